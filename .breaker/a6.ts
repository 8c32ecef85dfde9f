// variant: natural: no manual VACUUM/ANALYZE; autovacuum as the schema sets it; fresh vs old connection
import { createQueue, postgres, sleep } from "./h.ts";
const pg = (o: any = {}) => postgres({ host: "127.0.0.1", port: 54999, user: "postgres", database: "breaker_c", onnotice: () => {}, ...o });
const mode = process.argv[2]; const sql = pg({ max: 1, ...(mode === "noprep" ? { prepare: false } : {}) }), admin = pg({ max: 1 });
await admin`drop table if exists workflows, workflow_attempts, skiplocked_schema`;
const q = createQueue(sql); await q.migrate();
async function one(q: any, label: string) {
  const T: any = {}; const time = async (k: string, f: () => any) => { const t = performance.now(); const r = await f(); T[k] = +(performance.now() - t).toFixed(1); return r; };
  await time("enqueue", () => q.enqueue({ role: "x" })); await time("key", () => q.enqueue({ role: "x", key: "k" + Math.random() }));
  const c: any = await time("dequeue", () => q.dequeue({ roles: ["x"] })); await time("hb", () => q.heartbeat(c)); await time("complete", () => q.complete(c)); await time("refusal", () => q.dequeue({ roles: ["nobody"] }));
  await time("reap", () => q.reap());
  if (label) console.log(label, JSON.stringify(T));
}
if (mode === "prune") { for (let i = 0; i < 200; i++) await one(q, ""); await admin`vacuum analyze workflow_attempts`; await admin`vacuum analyze workflows`; }
for (let i = 0; i < 12; i++) await one(q, i == 11 ? "tiny" : "");
console.log(await admin`select relname, relpages, reltuples from pg_class where relname in ('workflows','workflow_attempts')`);
await admin`insert into workflows (workflow_id) select g from generate_series(1000000,1300000) g`;
await admin`insert into workflow_attempts (workflow_id, role) select g, 'x' from generate_series(1000000,1300000) g`;
const t0 = Date.now();
const s2 = pg({ max: 1 }); const q2 = createQueue(s2);
for (let i = 0; i < (mode === "wait" ? 14 : 3); i++) { await one(q, `old conn +${Math.round((Date.now() - t0) / 1000)}s`); await one(q2, "new conn"); if (mode === "wait") await sleep(5000); }
console.log(await admin`select relname, last_autoanalyze, last_autovacuum from pg_stat_user_tables`);
await Promise.all([sql.end(), admin.end(), s2.end()]);

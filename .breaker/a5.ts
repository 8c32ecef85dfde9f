// A: prepared generic plans made on a tiny analysed table, then bulk load
import { createQueue, err, postgres, sleep } from "./h.ts";
process.env.X;
const pg = (o: any = {}) => postgres({ host: "127.0.0.1", port: 54999, user: "postgres", database: "breaker_b", onnotice: () => {}, ...o });
const sql = pg({ max: 1 }), admin = pg({ max: 1 });
const q = createQueue(sql); await q.migrate();
await admin`alter table workflow_attempts set (autovacuum_enabled = off)`; await admin`alter table workflows set (autovacuum_enabled = off)`;
async function one(label: string) {
  const T: any = {};
  const time = async (k: string, f: () => any) => { const t = performance.now(); const r = await f(); T[k] = +(performance.now() - t).toFixed(1); return r; };
  await time("enqueue", () => q.enqueue({ role: "x" })); await time("enqueueKey", () => q.enqueue({ role: "x", key: "k" + Math.random() }));
  const w: any = await q.enqueue({ role: "x" }); await time("join", () => q.enqueue({ role: "x", workflowId: w.workflowId }));
  const c: any = await time("dequeue", () => q.dequeue({ roles: ["x"] })); await time("hb", () => q.heartbeat(c)); await time("hb2", () => q.heartbeat([c, c]));
  await time("complete", () => q.complete(c, {next:[{role:"z",key:"n"+Math.random()}]}));
  const cs: any = await time("many", () => q.dequeueMany({ roles: ["x"], limit: 3 }));
  await time("fail", () => q.fail(cs[0], { outcome: "x" })); await time("failRetry", () => q.fail(cs[1], { retry: {} })); await time("release", () => q.release(cs[2]));
  await time("refusal", () => q.dequeue({ roles: ["nobody"] })); await time("reap", () => q.reap());
  await time("cancel", () => q.cancel(w.workflowId)); 
  const yr="y"+Math.random(); const w2:any = await q.enqueue({role:yr}); const y:any = await q.dequeue({roles:[yr]}); await sleep(2); await sql`update workflow_attempts set lock_heartbeat_at = now() - interval '1 hour' where attempt_id = ${y.attemptId}`; await q.reap({maxPickups:1}); await time("retry", () => q.retry(w2.workflowId)); await time("prune", () => q.prune({ olderThanMs: 3600e3 }));
  console.log(label, JSON.stringify(T));
}
await one("tiny 0"); await admin`vacuum analyze workflow_attempts`; await admin`vacuum analyze workflows`;
for (let i = 1; i <= 12; i++) { if (i > 10) await one("tiny " + i); else { const l = console.log; console.log = () => {}; await one(""); console.log = l; } }
console.log("generic plans:", (await sql`select left(statement,60) s, generic_plans g, custom_plans c from pg_prepared_statements`).map((r) => `${r.s.replace(/\s+/g, " ")}|${r.g}|${r.c}`).join("\n"));
await admin`insert into workflows (workflow_id) select g from generate_series(1000000,1400000) g`;
await admin`insert into workflow_attempts (workflow_id, role) select g, 'x' from generate_series(1000000,1200000) g`;
await admin`insert into workflow_attempts (workflow_id, role, status) select g, 'x', 'succeeded' from generate_series(1200000,1400000) g`;
for (let i = 0; i < 3; i++) await one("loaded same conn " + i);
await sql.end(); await admin.end();

import { pg, createQueue, err, sleep } from "./h.ts";
const admin = pg({ max: 1 });
for (const [k, v] of [["quote_all_identifiers", "on"], ["array_nulls", "off"], ["transform_null_equals", "on"], ["default_transaction_deferrable", "on"], ["statement_timeout", "300"], ["lock_timeout", "50"], ["default_transaction_read_only", "on"], ["role", "none"], ["row_security","off"], ["client_encoding", "LATIN1"], ["client_encoding","SQL_ASCII"]]) {
  await admin`drop schema if exists opt2 cascade`;
  const sql = pg({ connection: { [k]: v } }); const q = createQueue(sql, { schema: "opt2" });
  const m = await err(q.migrate()); 
  if (typeof m === "string") { await createQueue(admin, { schema: "opt2" }).migrate(); console.log(k, v, "2nd migrate", JSON.stringify(await err(q.migrate()))); }
  const e = await err(q.enqueue({ role: "aé€", payload: "é€😀" , key:"k"})); const d: any = await err(q.dequeue({ roles: ["aé€"] }));
  console.log(k, v, JSON.stringify(m), JSON.stringify(e), JSON.stringify(d.payload ?? d));
  await sql.end();
}
// least privilege
await admin`drop schema if exists lp cascade`; await admin`create schema lp`; 
const qa = createQueue(admin, { schema: "lp" }); await qa.migrate();
await admin.unsafe(`do $$ begin if not exists (select from pg_roles where rolname='breaker_w') then create role breaker_w login; end if; end $$`);
await admin.unsafe(`grant usage on schema lp to breaker_w; grant select, insert, update on lp.workflows, lp.workflow_attempts to breaker_w`);
const w = pg({ user: "breaker_w" }); const q = createQueue(w, { schema: "lp" });
const run = async (tag: string) => {
  console.log(tag, "migrate", JSON.stringify(await err(q.migrate())));
  console.log(tag, "enqueue", JSON.stringify(await err(q.enqueue({ role: "a" }))));
  await qa.enqueue([{ role: "a" }, { role: "a" },{role:"a"}]);
  const c: any = await err(q.dequeue({ roles: ["a"] })); console.log(tag, "dequeue", c.acquired ?? c);
  console.log(tag, "hb", await err(q.heartbeat(c)), "complete", await err(q.complete(c)));
  await admin`insert into lp.workflow_attempts (workflow_id, role, status, created_at) values (500000 + (random()*100000)::int, 'b', 'in_progress', '2020-01-01')`;
  const c2: any = await err(q.dequeue({ roles: ["a"] })); await sleep(3);
  console.log(tag, "reap", JSON.stringify(await err(q.reap({ staleAfterMs: 0, maxPickups: 1 }))));
  console.log(tag, "stats", JSON.stringify(await err(q.stats())).slice(0, 80), "prune", await err(q.prune({ olderThanMs: 0 })), "cancel", await err(q.cancel((await qa.enqueue({ role: "z" })).workflowId)));
};
await run("tables-only");
await admin.unsafe(`grant usage on all sequences in schema lp to breaker_w; grant select on lp.skiplocked_schema to breaker_w`); await run("+usage seq, select version");
await admin.unsafe(`grant update on all sequences in schema lp to breaker_w; grant delete on lp.workflows, lp.workflow_attempts to breaker_w`); await run("+update seq, delete");
await admin`drop schema lp cascade`; await w.end(); await admin`drop schema if exists opt2 cascade`; await admin`drop owned by breaker_w`; await admin`drop role breaker_w`; await admin.end();

import { pg, createQueue, err, Database, sleep } from "./h.ts";
const sql = pg({max:4});
// B: reserved
{
  const r = await sql.reserve();
  await sql`create schema if not exists resv`;
  await sql`create database x`.catch(()=>{});
  const q = createQueue(r as any, { schema: "resv" });
  console.log("migrate reserved", await err(q.migrate()));
  console.log((await sql`select table_schema, table_name from information_schema.tables where table_name in ('workflows','workflow_attempts','skiplocked_schema')`).map(x=>x.table_schema+"."+x.table_name));
  console.log("enq", await err(q.enqueue({role:"a"})));
  r.release();
}
// F
for (const schema of ["$user", "@schema", "@schema-literal", 'a"b', "a.b", "a\\b", "a'b", "é".repeat(31)+"x", " ", "$1", "$$", ":x", "a,b", "pg_temp", "PUBLIC", "a%b", "%I"]) {
  const q = createQueue(sql, { schema });
  const m = await err(q.migrate());
  const e = await err(q.enqueue([{ role: "a", key: "k" },{role:"a",key:"k"}]));
  const c: any = await err(q.dequeue({ roles: ["a"] }));
  const r = await err(q.complete(c)); const rp = await err(q.reap({}));
  console.log(JSON.stringify(schema), JSON.stringify(m), JSON.stringify(e), c?.acquired, r, JSON.stringify(rp));
}
console.log((await sql`select table_schema from information_schema.tables where table_name = 'workflow_attempts'`).map(x=>x.table_schema));
// E: infinity order
{
  const q = createQueue(sql);
  await q.migrate();
  await sql`insert into workflow_attempts (workflow_id, role, created_at) values (900001,'inf','infinity'),(900002,'inf','2024-01-01'),(900003,'inf','2023-01-01'),(900004,'inf','-infinity'),(900005,'inf','0044-03-15 BC'),(900006,'inf','10000-01-01')`;
  console.log("many", (await q.dequeueMany({ roles: ["inf"], limit: 10 })).map((c) => c.workflowId).join(), "expected 900004,900005,900003,900002,900006,900001");
  await sql`insert into workflow_attempts (attempt_id, workflow_id, role) values (-5, 900001,'neg')`;
  const c: any = await q.dequeue({ roles: ["neg"] }); console.log("neg", c.attemptId, await err(q.heartbeat(c)), await err(q.complete(c)));
}
await sql.end();

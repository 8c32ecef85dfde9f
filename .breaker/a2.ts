import { pg, createQueue, err, Database, sleep } from "./h.ts";
const db = new Database(":memory:"); const s = createQueue(db); await s.migrate();
let lo = 5, hi = 10; while (hi - lo > 0.05) { const m = (lo + hi) / 2; const r = await err(s.enqueue({ role: "b", payload: { a: "x".repeat(m * 1e6) } })); if (typeof r === "string") hi = m; else lo = m; }
console.log("threshold MB", lo);
await s.enqueue({role:"c"}); const c:any = await s.dequeue({roles:["c"]});
console.log("complete", await err(s.complete(c, { result: { html: "x".repeat(9e6) } })));
console.log(db.prepare("select status from workflow_attempts where role='c'").get());
await s.enqueue({role:"d"}); const d:any = await s.dequeue({roles:["d"]});
console.log("fail", await err(s.fail(d, { error: new Error("boom") , result: { html: "x".repeat(9e6) } })));
// H: STUCK + failed sibling
for (const [n, q] of [["sqlite", s], ["pg", createQueue(pg({max:3}))]] as any) {
  const w = await q.enqueue({ role: "A"+n }); await q.enqueue({ role: "B"+n, workflowId: w.workflowId });
  const a = await q.dequeue({ roles: ["A"+n] });
  await q.fail(a, { outcome: "bad" });
  const st = async () => n === "sqlite" ? db.prepare("select status from workflows where workflow_id=?").get(w.workflowId) : (await sql1`select status from workflows where workflow_id=${w.workflowId}`)[0];
  const sql1 = pg({max:1});
  console.log(n, "after fail", await st());
  const b = await q.dequeue({ roles: ["B"+n] }); await sleep(5);
  console.log((await q.reap({ staleAfterMs: 0, maxPickups: 1 })).stuck.length, await st());
  await q.retry(w.workflowId); console.log("after retry", await st());
  const b2 = await q.dequeue({ roles: ["B"+n] }); await q.complete(b2); console.log("after B success", await st());
  await sql1.end();
}
// I: reap re-STUCKs
{
  const w = await s.enqueue({ role: "I" }); await s.dequeue({roles:["I"]}); await sleep(5); await s.reap({staleAfterMs:0,maxPickups:1});
  db.prepare("update workflows set status='FAILED', stuck_reason=null where workflow_id=?").run(w.workflowId);
  await s.reap(); console.log("I sqlite", db.prepare("select status from workflows where workflow_id=?").get(w.workflowId));
}
process.exit(0);

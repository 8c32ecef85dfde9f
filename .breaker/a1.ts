import { pg, createQueue, err, Database, openSqlite } from "./h.ts";
import { randomBytes } from "node:crypto";
const sql = pg(); const q = createQueue(sql); await q.migrate();
const db = new Database(":memory:"); const s = createQueue(db); await s.migrate();
for (const [n, x] of [["pg", q], ["sqlite", s]] as any) {
  console.log("==", n);
  for (const len of [2000, 3000, 6000, 10000]) {
    const role = randomBytes(len).toString("base64").slice(0, len);
    console.log("role", len, JSON.stringify(await err(x.enqueue({ role }))));
  }
  for (const mb of [1, 5, 10, 20, 50]) {
    const t = performance.now();
    const r = await err(x.enqueue({ role: "big", payload: { a: "x".repeat(mb * 1e6) } }));
    console.log("payload", mb, JSON.stringify(r).slice(0, 200), Math.round(performance.now() - t));
  }
  console.log("bs", JSON.stringify(await err(x.enqueue({ role: "big", payload: "\\".repeat(10_000_000) }))).slice(0,200));
  console.log("esc", JSON.stringify(await err(x.enqueue({ role: "big", payload: "\n".repeat(5_000_000) }))).slice(0,200));
}
await sql.end();

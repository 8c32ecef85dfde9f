// G: event loop with a locked file
import { createQueue, err, Database, openSqlite, sleep } from "./h.ts";
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
const f = "/tmp/breaker/g.db"; for (const x of ["", "-wal", "-shm"]) rmSync(f + x, { force: true });
const db = await openSqlite(f); const q = createQueue(db); await q.migrate();
async function hold(ms: number) {
  const p = spawn(process.execPath, ["-e", `const D=require("/work/main/node_modules/better-sqlite3");const d=new D("${f}");d.exec("begin exclusive");console.log("got");setTimeout(()=>{d.exec("rollback");process.exit()},${ms})`]);
  await new Promise((r) => p.stdout.once("data", r)); return p;
}
for (const [n, ms] of [[1, 3000], [50, 3000], [200, 3000], [1, 7000], [50, 7000]]) {
  const p = await hold(ms);
  let worst = 0, last = performance.now(), ticks = 0; const gaps: number[] = [];
  const iv = setInterval(() => { const t = performance.now(); gaps.push(t - last); last = t; ticks++; }, 10);
  const t = performance.now();
  const rs = await Promise.all(Array.from({ length: n }, () => err(q.enqueue({ role: "a" }))));
  const took = performance.now() - t; clearInterval(iv);
  gaps.sort((a, b) => b - a);
  console.log({ n, hold: ms, took: Math.round(took), worst: gaps.slice(0, 5).map(Math.round), ticks, errs: rs.filter((r) => typeof r === "string").length, first: rs.find((r) => typeof r === "string") });
  console.log(db.prepare("pragma busy_timeout").get());
  await new Promise((r) => p.exitCode !== null ? r(0) : p.once("exit", r));
}

// One file, opened in every way that works: by two names, in threads, and for long.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, test } from "node:test";
import { Worker } from "node:worker_threads";
import { createQueue } from "../mod.ts";
import { openSqlite } from "../src/sqlite.ts";
import { spawnWorker } from "./support/processes.ts";
import { temporaryFolder } from "./support/temp.ts";

const COUNT = 500;
// All of CASES.md: LIVES=50000 npm test -- sqlite_sharing
const LIVES = Number(process.env["LIVES"] ?? 2_000);
const THREAD = new URL("./workers/thread.ts", import.meta.url).href;

describe("sqlite file · sharing", () => {
  test("two processes that know it by its path and by a link claim nothing twice", async () => {
    const folder = temporaryFolder("sharing");
    const [path, link, folderLink] = [join(folder, "real", "queue.db"), join(folder, "link.db"), join(folder, "linked")];
    mkdirSync(join(folder, "real"));
    const db = await openSqlite(path, { synchronous: "NORMAL" });
    symlinkSync(path, link);
    symlinkSync(join(folder, "real"), folderLink);
    const queue = createQueue(db);
    await queue.migrate();
    const ids = (await queue.enqueue(Array.from({ length: COUNT * 2 }, () => ({ role: "r" })))).map(({ attemptId }) => attemptId);
    const [signal, journals] = [join(folder, "go"), ["a", "b", "c"].map((name) => join(folder, name))];
    journals.forEach((journal) => writeFileSync(journal, ""));
    const workers = [path, link, join(folderLink, "queue.db")].map((address, n) =>
      spawnWorker(new URL("./workers/drain.ts", import.meta.url), [JSON.stringify({ address, roles: ["r"], signal, journal: journals[n] })]));
    for (const worker of workers) await worker.nextEvent("ready");
    writeFileSync(signal, "");
    for (const worker of workers) await worker.nextEvent("done", 60_000);
    const done = journals.flatMap((journal) => readFileSync(journal, "utf8").split("\n").slice(0, -1));
    assert.deepEqual(done.sort(), ids.sort());
    db.close();
  });

  test("four threads, each with a handle of its own, one of them ended in the middle", { timeout: 120_000 }, async () => {
    const path = join(temporaryFolder("threads"), "queue.db");
    const db = await openSqlite(path, { synchronous: "NORMAL" });
    const queue = createQueue(db);
    await queue.migrate();
    const ids = (await queue.enqueue(Array.from({ length: COUNT }, () => ({ role: "r" })))).map(({ attemptId }) => attemptId);
    const done: string[] = [];
    const ended = thread(path, true, done);
    // The others come when it has one: they may be through before a thread has started.
    const hung = await ended.claimed;
    const others = [1, 2, 3].map(() => thread(path, false, done));
    await Promise.race(others.map(({ worked }) => worked));
    await ended.worker.terminate();
    await Promise.all(others.map(({ exited }) => exited));
    assert.deepEqual(done.toSorted(), ids.filter((id) => id !== hung).sort());
    const { requeued } = await queue.reap({ staleAfterMs: 0 });
    assert.deepEqual(requeued.map(({ attemptId }) => attemptId), [hung]);
    await thread(path, false, done).exited;
    assert.deepEqual(done.toSorted(), ids.toSorted());
    db.close();
  });

  test("the log stays small while two processes work, and can be emptied while they are idle", { timeout: 600_000 }, async () => {
    const folder = temporaryFolder("log");
    const path = join(folder, "queue.db");
    const db = await openSqlite(path, { synchronous: "NORMAL" });
    const queue = createQueue(db);
    await queue.migrate();
    const workers = [1, 2].map(() => spawnWorker(new URL("./workers/cycle.ts", import.meta.url), [JSON.stringify({ address: path, roles: ["r"] }), String(LIVES / 2)]));
    // Its own reads are finished at once, so that each checkpoint can begin the log anew.
    const sizes: number[] = [];
    const probe = setInterval(() => sizes.push(statSync(`${path}-wal`).size), 50);
    for (const worker of workers) await worker.nextEvent("done", 600_000);
    clearInterval(probe);
    // One that a read holds up grows by 50 kB with each life. A process that the machine keeps waiting in the middle of a read holds
    // it up for so long: 17 MB were the most in 50,000 lives on two processors with thirty others at work.
    assert.ok(sizes.length > 5 && Math.max(...sizes) < 40_000_000, `${Math.max(...sizes)} bytes`);
    // They are idle now, with what they have open.
    assert.deepEqual(db.query("pragma wal_checkpoint(truncate)").values()[0]?.[0], 0, "nobody is in the way");
    assert.equal(statSync(`${path}-wal`).size, 0);
    assert.equal((await queue.stats()).roles[0]?.succeeded, LIVES);
    for (const worker of workers) worker.kill();
    for (const worker of workers) await worker.exited;
    db.close();
  });

  test("a program that is through with it ends by itself", async () => {
    const folder = temporaryFolder("ends");
    const program = join(folder, "main.ts");
    const [mod, sqlite] = ["../mod.ts", "../src/sqlite.ts"].map((path) => new URL(path, import.meta.url).href);
    writeFileSync(program, `import { createQueue } from "${mod}"; import { openSqlite } from "${sqlite}";
      (async () => {
        const db = await openSqlite(${JSON.stringify(join(folder, "queue.db"))});
        const queue = createQueue(db);
        await queue.migrate();
        await queue.enqueue({ role: "r" });
        const claim = await queue.dequeue({ roles: ["r"] });
        if (claim.acquired) await queue.heartbeat(claim);
        await queue.reap();
        db.close();
        console.log(JSON.stringify({ type: "done" }));
      })();`);
    const worker = spawnWorker(program);
    await worker.nextEvent("done");
    const started = performance.now();
    assert.deepEqual(await worker.exited, { code: 0, signal: null });
    // Nothing that it has makes it wait: the least would be the 5 s that a lock is waited for.
    assert.ok(performance.now() - started < 5_000);
  });
});

function thread(path: string, hang: boolean, done: string[]) {
  // Under Node 20 a thread does not have the loader of its process.
  const load = `import(${JSON.stringify(import.meta.resolve("tsx/esm/api"))}).then(({ register }) => (register(), import(${JSON.stringify(THREAD)})))`;
  const worker = new Worker(load, { eval: true, workerData: { path, hang } });
  const exited = new Promise<void>((resolve, reject) => worker.once("error", reject).once("exit", () => resolve()));
  const first = (wanted: string) => new Promise<string>((resolve, reject) => {
    worker.on("message", ({ type, attemptId }) => void (type === wanted && resolve(attemptId)));
    exited.then(() => reject(new Error(`A thread ended before it said "${wanted}"`)), reject);
  });
  const [claimed, worked] = [first("claimed"), first("done")];
  for (const each of [claimed, worked]) each.catch(() => {});
  worker.on("message", ({ type, attemptId }) => void (type === "done" && done.push(attemptId)));
  return { worker, claimed, worked, exited };
}

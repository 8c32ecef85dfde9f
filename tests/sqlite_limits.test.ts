// A file that is full or may not be written: told with SQLite's own code, nothing changed, and it goes on afterwards.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createQueue } from "../mod.ts";
import { openSqlite } from "../src/sqlite.ts";
import { temporaryFolder } from "./support/temp.ts";

describe("sqlite file · limits", () => {
  test("full: each operation is done wholly or not at all, and all goes on when there is room", async () => {
    const db = await openSqlite(`${temporaryFolder()}/queue.db`, { synchronous: "NORMAL" });
    const queue = createQueue(db);
    await queue.migrate();
    await queue.enqueue([{ role: "r" }, { role: "r" }]);
    const claim = await queue.dequeue({ roles: ["r"] });
    assert.ok(claim.acquired);
    const dump = () => [db.query("select * from workflows").all(), db.query("select * from workflow_attempts").all()];
    const before = dump();
    const pages = Number(db.query("pragma page_count").values()[0]?.[0]);
    db.run(`pragma max_page_count = ${pages}`);
    const big = "x".repeat(200_000);
    const refused = [
      () => queue.enqueue({ role: "r", payload: big }),
      () => queue.enqueue([{ role: "r", key: "a" }, { role: "r", payload: big }]),
      () => queue.complete(claim, { result: big, next: [{ role: "r" }] }),
      () => queue.fail(claim, { result: big, retry: {} }),
    ];
    for (const each of refused) {
      await assert.rejects(each(), { code: "SQLITE_FULL" });
      assert.deepEqual(dump(), before);
    }
    assert.deepEqual(await queue.heartbeat(claim), { held: true });
    db.run("pragma max_page_count = 1000000");
    await queue.complete(claim, { result: big });
    db.close();
  });

  test("read-only: what only looks works, what writes is told so", async () => {
    const path = `${temporaryFolder()}/queue.db`;
    const writer = await openSqlite(path);
    await createQueue(writer).migrate();
    await createQueue(writer).enqueue({ role: "r" });
    const db = await openSqlite(path, { readonly: true });
    const queue = createQueue(db);
    assert.deepEqual(await queue.migrate(), { from: 1, to: 1 });
    assert.equal((await queue.stats()).roles[0]?.pending, 1);
    for (const write of [() => queue.enqueue({ role: "r" }), () => queue.dequeue({ roles: ["r"] }), () => queue.reap()]) {
      await assert.rejects(write(), { code: "SQLITE_READONLY" });
    }
    for (const each of [db, writer]) each.close();
  });
});

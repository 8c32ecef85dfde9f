// The SQL of docs/WHEN.md, run as it is printed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import type { Claim } from "../mod.ts";
import { mainBackends, type Opened } from "./support/backends.ts";

const PAGE = readFileSync(new URL("../docs/WHEN.md", import.meta.url), "utf8");
const [TABLE = "", WRITE = ""] = [...PAGE.matchAll(/```sql\n([^]*?);\n```/g)].map((match) => String(match[1]));

for (const backend of mainBackends) {
  describe(`${backend.name} · an outside system that is fenced`, () => {
    test("refuses who comes late, over pickups and retries, and takes who holds the lease again and again", async () => {
      const opened = await backend.open();
      const queue = opened.queue({ instanceId: "twin" });
      await queue.migrate();
      await opened.sql(TABLE);
      const claim = async () => await queue.dequeue({ roles: ["reporter"] }) as Claim;
      const { workflowId } = await queue.enqueue({ role: "reporter" });

      const zombie = await claim();
      assert.ok(await write(opened, zombie, "first"));
      assert.ok(await write(opened, zombie, "first again"));
      await opened.age(zombie.attemptId, 3_600_000);
      await queue.reap();
      const second = await claim();
      assert.ok(await write(opened, second, ""));
      assert.ok(!await write(opened, zombie, "late"));
      await queue.fail(second, { retry: {} });
      const third = await claim();
      assert.deepEqual([third.workflowId, third.fencingToken], [workflowId, "1"], "a token that is lower, of a later attempt");
      assert.ok(await write(opened, third, "third"));
      for (const late of [zombie, second]) assert.ok(!await write(opened, late, "late"));
      await queue.complete(third);
      assert.deepEqual((await opened.sql("select body from reports")).map(({ body }) => body), ["third"]);
    });

    test("is the same database: what was written vanishes with a lease that is lost", async () => {
      const opened = await backend.open();
      const queue = opened.queue();
      await queue.migrate();
      await opened.sql(TABLE);
      const { attemptId } = await queue.enqueue({ role: "reporter" });
      const [late, again] = [await queue.dequeue({ roles: ["reporter"] }) as Claim, async () => await queue.dequeue({ roles: ["reporter"] }) as Claim];
      await opened.age(attemptId, 3_600_000);
      await queue.reap();
      const holder = await again();
      const insert = `insert into ${opened.schema === undefined ? "" : `"${opened.schema}".`}reports values ('r', 'late', 1, 1)`;
      const work = (claim: Claim) => opened.transaction(async (transaction) => {
        await execute(transaction, insert);
        await queue.using(transaction).complete(claim);
      });
      await assert.rejects(work(late), { code: "lease_lost" });
      assert.deepEqual(await opened.sql("select 1 from reports"), []);
      await work(holder);
      assert.equal((await opened.sql("select 1 from reports")).length, 1);
    });
  });
}

/** Whether the outside system took it. */
async function write(opened: Opened, { attemptId, fencingToken }: Claim, body: string): Promise<boolean> {
  const values: Record<string, string> = { report_id: "'r'", body: `'${body}'`, attempt_id: attemptId, fencing_token: fencingToken };
  return (await opened.sql(WRITE.replaceAll(/:(\w+)/g, (_, name: string) => values[name]!))).length === 1;
}

// Through the caller's own transaction, whose shape is the driver's.
async function execute(transaction: unknown, text: string): Promise<void> {
  const { unsafe, exec } = transaction as { unsafe?(text: string): Promise<unknown>; exec?(text: string): unknown };
  await (unsafe === undefined ? exec!.call(transaction, text) : unsafe(text));
}

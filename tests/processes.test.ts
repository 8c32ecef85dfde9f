// Real processes, which can be killed and stopped.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import type { Claim } from "../mod.ts";
import { mainBackends, type Opened } from "./support/backends.ts";
import { eventually } from "./support/eventually.ts";
import { spawnWorker, type Worker } from "./support/processes.ts";
import { temporaryFolder } from "./support/temp.ts";
import { test } from "./support/testing.ts";
import type { WorkerArguments } from "./workers/worker.ts";

const PROCESSES = 8;
const STALE_MS = 60_000;

for (const backend of mainBackends.filter(({ name }) => name !== "better-sqlite3 12")) {
  describe(`${backend.name} · processes`, () => {
    async function migrated(): Promise<Opened> {
      const opened = await backend.open();
      await opened.queue().migrate();
      return opened;
    }

    test("eight drain 5,000 attempts of three roles, each completed once", async () => {
      const opened = await migrated();
      const roles = ["builder", "mailer", "indexer"];
      const work = Array.from({ length: 5_000 }, (_, n) => ({ role: roles[n % 3]!, payload: { n } }));
      const ids = (await opened.queue().enqueue(work)).map(({ attemptId }) => attemptId);

      const gun = startingGun();
      const journals = Array.from({ length: PROCESSES }, (_, n) => gun.file(`journal-${n}`));
      journals.forEach((journal) => writeFileSync(journal, ""));
      const workers = journals.map((journal, n) =>
        start("drain", opened, { roles, journal, signal: gun.signal, instanceId: `host/${n}/drain`, ...n % 2 === 1 && { limit: 7 } })
      );
      await all(workers, "ready");
      gun.fire();
      await all(workers, "done", 120_000);

      const written = journals.map((journal) => readFileSync(journal, "utf8").split("\n").slice(0, -1));
      assert.deepEqual(written.flat().sort(byNumber), ids.sort(byNumber));
      const rows = await opened.sql(`
        select a.attempt_id, a.status, a.outcome, a.pickup_count, a.fencing_token, a.locked_by_instance, w.status as workflow
        from workflow_attempts as a join workflows as w on w.workflow_id = a.workflow_id`);
      const owners = new Map(written.flatMap((list, n) => list.map((id) => [id, `host/${n}/drain`])));
      for (const { attempt_id, ...row } of rows) {
        assert.deepEqual({ ...row, fencing_token: Number(row.fencing_token) }, {
          status: "succeeded", outcome: "drained", pickup_count: 0, fencing_token: 1,
          locked_by_instance: owners.get(String(attempt_id)), workflow: "SUCCEEDED",
        });
      }
      assert.equal(rows.length, ids.length);
    });

    test("what a killed worker held is reaped and done elsewhere", async () => {
      const opened = await migrated();
      const queue = opened.queue();
      const enqueued = await queue.enqueue([{ role: "builder" }, { role: "builder" }, { role: "builder" }]);
      const worker = start("hold", opened, { roles: ["builder"], limit: 2, instanceId: "host/1/killed", signal: startingGun().signal });
      await worker.nextEvent("claimed");
      worker.kill("SIGKILL");
      assert.equal((await worker.exited).signal, "SIGKILL");

      assert.deepEqual(await queue.reap({ staleAfterMs: STALE_MS }), { requeued: [], stuck: [] });
      for (const { attemptId } of enqueued) await opened.age(attemptId, STALE_MS + 10_000);
      const { requeued, stuck } = await queue.reap({ staleAfterMs: STALE_MS });
      assert.deepEqual(requeued.map(({ attemptId, pickupCount, previousInstanceId }) => [attemptId, pickupCount, previousInstanceId]),
        enqueued.slice(0, 2).map(({ attemptId }) => [attemptId, 1, "host/1/killed"]));
      assert.deepEqual(stuck, []);

      const claims = await queue.dequeueMany({ roles: ["builder"], limit: 10 });
      assert.deepEqual(claims.map(({ attemptId }) => attemptId), enqueued.map(({ attemptId }) => attemptId));
      for (const claim of claims) await queue.complete(claim);
      assert.deepEqual(await opened.sql("select distinct status from workflows"), [{ status: "SUCCEEDED" }]);
    });

    test("a worker stopped past its lease changes nothing when it goes on", async () => {
      const opened = await migrated();
      const queue = opened.queue();
      const { attemptId } = await queue.enqueue({ role: "builder" });
      const gun = startingGun();
      const zombie = start("hold", opened, { roles: ["builder"], instanceId: "host/1/twin", signal: gun.signal });
      await zombie.nextEvent("claimed");
      zombie.kill("SIGSTOP");

      // By real time. The name is the same: only the fencing token tells the zombie's lease from the new one.
      await eventually(async () => assert.equal((await queue.reap({ staleAfterMs: 300 })).requeued.length, 1));
      const claim = await queue.dequeue({ roles: ["builder"], instanceId: "host/1/twin" }) as Claim;
      assert.equal(claim.attemptId, attemptId);
      const before = await everything(opened);
      gun.fire();
      zombie.kill("SIGCONT");
      const { answers } = await zombie.nextEvent("tried");
      assert.deepEqual(answers, [{ held: false }, "lease_lost", "lease_lost", "lease_lost"]);
      assert.deepEqual(await everything(opened), before);
      await queue.complete(claim, { outcome: "done" });
    });

    test("an attempt that kills its worker three times is STUCK", async () => {
      const opened = await migrated();
      const queue = opened.queue();
      const { attemptId, workflowId } = await queue.enqueue({ role: "builder" });
      for (const pickupCount of [1, 2, 3]) {
        const worker = start("poison", opened, { roles: ["builder"] });
        assert.equal((await worker.nextEvent("answered")).attemptId, attemptId);
        assert.equal((await worker.exited).signal, "SIGKILL");
        await opened.age(attemptId, STALE_MS + 10_000);
        const { requeued, stuck } = await queue.reap({ staleAfterMs: STALE_MS });
        assert.deepEqual([...requeued, ...stuck].map((reaped) => reaped.pickupCount), [pickupCount]);
        assert.equal(stuck.length, pickupCount === 3 ? 1 : 0);
      }
      const last = start("poison", opened, { roles: ["builder"] });
      assert.equal((await last.nextEvent("answered")).reason, "no_pending_eligible");
      assert.deepEqual(await opened.sql(`select status, stuck_reason from workflows where workflow_id = ${workflowId}`), [
        { status: "STUCK", stuck_reason: "attempt-pickup-exhausted" },
      ]);
    });

    test("eight migrate an empty database at once, and one of them makes it", async () => {
      for (const missing of [false, true]) {
        const opened = await backend.open();
        // On Postgres the schema itself may be missing; on SQLite an untouched file is one that is not there.
        const place = missing ? elsewhere(opened) : opened;
        const gun = startingGun();
        const workers = Array.from({ length: PROCESSES }, () => start("migrate", place, { signal: gun.signal }));
        await all(workers, "ready");
        gun.fire();
        const answers = (await all(workers, "migrated")).map(({ answer }) => JSON.stringify(answer)).sort();
        assert.deepEqual(answers, [JSON.stringify({ from: 0, to: 1 }), ...Array(PROCESSES - 1).fill(JSON.stringify({ from: 1, to: 1 }))]);
        if (missing && place.schema) await opened.sql(`set client_min_messages = warning; drop schema "${place.schema}" cascade`);
      }
    });
  });
}

function start(script: string, { address, schema }: Pick<Opened, "address" | "schema">, more: Partial<WorkerArguments>): Worker {
  const args: WorkerArguments = { address: String(address), schema, ...more };
  return spawnWorker(new URL(`./workers/${script}.ts`, import.meta.url), [JSON.stringify(args)]);
}

function all(workers: readonly Worker[], type: string, timeoutMs?: number) {
  return Promise.all(workers.map((worker) => worker.nextEvent(type, timeoutMs)));
}

function startingGun() {
  const folder = temporaryFolder("processes");
  const signal = join(folder, "go");
  return { signal, fire: () => writeFileSync(signal, ""), file: (name: string) => join(folder, name) };
}

function elsewhere({ address, schema }: Opened): Pick<Opened, "address" | "schema"> {
  return schema === undefined ? { address: `${address}-new`, schema } : { address, schema: `${schema}_new` };
}

async function everything(opened: Opened): Promise<unknown> {
  return [await opened.sql("select * from workflows"), await opened.sql("select * from workflow_attempts")];
}

function byNumber(a: string, b: string): number {
  return Number(a) - Number(b);
}

// What one runtime wrote every other one reads: the same ids, times, texts and JSON, on one file and on one server.
import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Claim, Enqueued } from "../mod.ts";
import { mainBackends } from "./support/backends.ts";
import { type Runtime, runtimes } from "./support/runtimes.ts";
import type { Order, Told } from "./support/shared_queue.ts";
import { linesOf } from "./support/sqlite_runtimes.ts";
import { test } from "./support/testing.ts";

const PAYLOAD = {
  text: "ä€😀 \u2028 \\ \" ' ; -- :x ?1 $1", "ключ": ["", "null", "1.0"], numbers: [0, -1, 0.1, 1e21, 5e-324, 2 ** 53, 1700000000123], yes: true, no: false, nothing: null, deep: [[{}], []],
};
const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/;
const TIMES = ["locked_at", "lock_heartbeat_at", "started_at", "finished_at", "run_at", "created_at"];

const backends = mainBackends.filter(({ name }) => name !== "better-sqlite3 12");
const all = runtimes();
const names = all.map(({ name }) => name);

describe("all runtimes on one queue", () => {
  test("read what the others wrote, and end what they hold", { timeout: 300_000 }, async () => {
    const opened = await Promise.all(backends.map((backend) => backend.open({ migrated: true })));
    for (const each of opened) await each.queue().migrate();
    const written = await everyone("write", () => ({}));
    // Each ends the lease of the next one.
    const read = await everyone("read", (place, address) => ({ lease: written[(place + 1) % all.length]![address]!.claims[0] as never as Claim }));

    for (const each of opened) {
      const address = String(each.address);
      const rows = await each.sql(`select *, ${TIMES.map((time) => `cast(${time} as text) as ${time}_text`).join(", ")} from workflow_attempts`);
      assert.equal(rows.length, all.length * (all.length + 1));
      const byId = new Map(rows.map((row) => [String(row["attempt_id"]), row]));
      const json = (value: unknown) => typeof value === "string" ? JSON.parse(value) : value;

      for (const [writer, { [address]: told }] of written.entries()) {
        const [own, ...others] = told!.enqueued as Enqueued[];
        const [held] = told!.claims as never as Claim[];
        assert.deepEqual([held!.attemptId, held!.workflowId, held!.payload], [own!.attemptId, own!.workflowId, PAYLOAD]);
        const heir = names[(writer + all.length - 1) % all.length];
        const row = byId.get(own!.attemptId)!;
        assert.deepEqual([row["status"], row["error"], row["locked_by_instance"], json(row["result"])], ["failed", heir, names[writer], PAYLOAD]);
        assert.equal(Number(row["fencing_token"]), Number(held!.fencingToken));

        for (const [reader, { attemptId, workflowId }] of others.entries()) {
          const claim = (read[reader]![address]!.claims as never as Claim[]).find((claim) => claim.attemptId === attemptId)!;
          const { role, tier, payload, pickupCount } = claim;
          assert.deepEqual([claim.workflowId, role, tier, payload, pickupCount], [workflowId, `${names[writer]} → ${names[reader]} 🐘`, reader, PAYLOAD, 0]);
          const { status, outcome, result, ...rest } = byId.get(attemptId)!;
          assert.deepEqual([status, outcome, json(result)], ["succeeded", names[reader], PAYLOAD]);
          assert.deepEqual([rest["priority"], rest["key"]], [-1 - reader, `${names[writer]}/${names[reader]}`]);
        }
      }
      for (const row of rows) {
        const times = TIMES.map((time) => row[`${time}_text`]).filter((time) => time !== null) as string[];
        if (each.dialect === "sqlite") for (const time of times) assert.match(time, TIME);
        const due = row["run_at"] === null ? null : Date.parse(`${String(row["run_at_text"]).replace(/\+00$/, "")}Z`);
        assert.ok(due === null || due === Date.parse("2020-02-29T12:34:56.789Z"), String(row["run_at_text"]));
      }
      // A number that one runtime binds as another type would be seen here.
      if (each.dialect === "sqlite") {
        const columns = Object.keys(rows[0]!).filter((name) => !name.endsWith("_text"));
        for (const column of columns) {
          const types = await each.sql(`select distinct typeof(${column}) as type from workflow_attempts where ${column} is not null`);
          assert.ok(types.length <= 1, `${column}: ${JSON.stringify(types)}`);
        }
      }
      assert.deepEqual((await each.sql("select status, cast(count(*) as int) as n from workflows group by status order by status")).map(({ status, n }) => [status, n]),
        [["FAILED", all.length], ["SUCCEEDED", all.length ** 2]]);
    }

    /** What each told, in the order of the runtimes. */
    async function everyone(act: Order["act"], more: (place: number, address: string) => object): Promise<Told[]> {
      const run = async (runtime: Runtime, place: number): Promise<Told> => {
        const places = opened.map(({ address, schema }) => ({ address: String(address), ...(schema && { schema }), ...more(place, String(address)) }));
        const order: Order = { act, me: runtime.name, all: names, payload: PAYLOAD, places };
        const [told] = await linesOf(runtime, "./shared_queue.ts", [JSON.stringify(order)]);
        return told;
      };
      return await Promise.all(all.map(run));
    }
  });
});

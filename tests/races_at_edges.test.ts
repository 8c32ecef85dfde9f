// Races of processes at the edges of what an attempt goes through: one wins, the others are told, and the counts are exact.
//   ROUNDS=5000 npm test -- races_at_edges     plays each race so many times instead of 50
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { describe, test } from "node:test";
import { contenders } from "./model/contenders.ts";
import { PROCESSES, type Race, RACES } from "./model/edge_races.ts";
import type { Stage } from "./model/edge_stages.ts";
import { mainBackends } from "./support/backends.ts";
import { temporaryFolder } from "./support/temp.ts";

// However slow the machine is. Whoever wins, wins seldom enough in some of them.
const LEAST_ROUNDS = 50;
const LEAST_MIGRATIONS = 12;
const GIVEN = process.env["ROUNDS"];
const ROUNDS = GIVEN === undefined ? LEAST_ROUNDS : Number(GIVEN);
assert.ok(Number.isInteger(ROUNDS) && ROUNDS >= LEAST_ROUNDS, `ROUNDS must be a whole number from ${LEAST_ROUNDS}, got ${GIVEN}`);

for (const backend of mainBackends.filter(({ name }) => name !== "better-sqlite3 12")) {
  // Where statements fail by design under the default of the role, and nobody is to notice.
  const levels = backend.dialect === "postgres" ? ["", "serializable"] : [""];
  for (const level of levels) {
    test(`${backend.name} · races at the edges${level && `, ${level}`}`, async (suite) => {
      const opened = await backend.open();
      const stage: Stage = { opened, queue: opened.queue() };
      await stage.queue.migrate();
      const others = await contenders(PROCESSES, { ...opened, address: opened.address + (level && `?default_transaction_isolation=${level}`) });
      suite.after(others.stop);

      for (const [name, race] of Object.entries(RACES)) {
        await suite.test(name, async (t) => {
          for (let round = 0; round < ROUNDS; round++) await play(race, `role-${randomUUID()}`);
          t.diagnostic(`${ROUNDS} rounds`);
        });
      }

      async function play(race: Race, role: string): Promise<void> {
        const claims = await race.arrange(stage, role);
        const results = await others.race(race.moves(claims, role));
        const of = claims[0] === undefined ? "null" : claims[0].workflowId;
        const rows = await opened.sql(`select * from workflow_attempts where workflow_id = ${of} order by attempt_id`);
        const [workflow] = await opened.sql(`select status from workflows where workflow_id = ${of}`);
        try {
          await race.judge(results, rows, workflow?.["status"] as string | undefined, stage, claims, role);
        } finally {
          // The next round finds nothing of this one.
          await opened.sql(`delete from workflow_attempts where role = '${role}'`);
          await opened.sql("delete from workflows where workflow_id not in (select workflow_id from workflow_attempts)");
        }
      }
    });
  }

  describe(`${backend.name} · migrations at once`, () => {
    test("migrate against migrate, eight processes", async (t) => {
      const opened = await backend.open();
      const others = await contenders(8, opened);
      t.after(others.stop);
      const folder = temporaryFolder("migrations");
      const rounds = Math.max(LEAST_MIGRATIONS, Math.ceil(ROUNDS / 20));
      for (let round = 0; round < rounds; round++) {
        const schema = `migrated ${randomUUID()}`;
        const place = opened.schema === undefined ? { address: `${folder}/${round}.db` } : { address: String(opened.address), schema };
        const results = await others.race(Array(8).fill(["migrate"]), place);
        assert.deepEqual(results.map((result) => (result as { from: number }).from).sort(), [0, 1, 1, 1, 1, 1, 1, 1], JSON.stringify(results));
        if (opened.schema !== undefined) await opened.sql(`set client_min_messages = warning; drop schema "${schema}" cascade`);
      }
      t.diagnostic(`${rounds} rounds`);
    });
  });
}

// Random histories, each run on the model and on a database side by side: whatever one of them answers or stores, the
// other must. MODEL_RUNS asks for more of them, MODEL_SEED for those that failed.
import { describe, test } from "node:test";
import process from "node:process";
import fc from "fast-check";
import { commands, compareTables, type World } from "./model/commands.ts";
import { DatabaseSubject, reserveOlderIds } from "./model/database.ts";
import { Model } from "./model/model.ts";
import { backends } from "./support/backends.ts";

const { MODEL_RUNS, MODEL_SEED } = process.env;

// What takes each about eight seconds.
const RUNS = { "sqlite file": 150, "sqlite memory": 300, postgres: 100 } as Record<string, number>;

for (const backend of backends) {
  describe(`${backend.name} · model`, () => {
    test("random histories give what the model gives", async () => {
      const opened = await backend.open();
      await opened.queue().migrate();
      await reserveOlderIds(opened);
      const property = fc.asyncProperty(fc.commands(commands, { maxCommands: 100, size: "max" }), async (history) => {
        const world: World = {
          model: new Model(),
          database: await DatabaseSubject.on(opened),
          leases: [],
          workflowIds: new Set(),
          commands: 0,
        };
        await fc.asyncModelRun(() => ({ model: world, real: null }), history);
        await compareTables(world);
      });
      await fc.assert(property, {
        numRuns: Number(MODEL_RUNS ?? RUNS[backend.name]),
        ...MODEL_SEED !== undefined && { seed: Number(MODEL_SEED) },
        includeErrorInReport: true,
      });
    });
  });
}

// Random histories, each run on the model and on a database side by side: whatever one of them answers or stores, the
// other must. MODEL_RUNS asks for more of them, MODEL_SEED for those that failed.
import { describe } from "node:test";
import process from "node:process";
import fc from "fast-check";
import { open } from "./model/arena.ts";
import { runAtOnce } from "./model/at_once.ts";
import { atOnce, commands, compareTables, opening, type World } from "./model/commands.ts";
import { DatabaseSubject, reserveOlderIds } from "./model/database.ts";
import { Model } from "./model/model.ts";
import { mainBackends, type Opened } from "./support/backends.ts";
import { test } from "./support/testing.ts";

const { MODEL_RUNS, MODEL_SEED } = process.env;

// Some seconds each.
const RUNS = {
  openSqlite: { alone: 100, atOnce: 0 },
  "better-sqlite3 12": { alone: 250, atOnce: 0 },
  "postgres.js": { alone: 80, atOnce: 200 },
} as Record<string, { alone: number; atOnce: number }>;

for (const backend of mainBackends) {
  const { alone, atOnce: together } = RUNS[backend.name]!;

  describe(`${backend.name} · model`, () => {
    test("random histories give what the model gives", async () => {
      const opened = await backend.open();
      await opened.queue().migrate();
      await reserveOlderIds(opened);
      const property = fc.asyncProperty(fc.commands(commands, { maxCommands: 100, size: "max" }), async (history) => {
        const world = await newWorld(opened);
        await fc.asyncModelRun(() => ({ model: world, real: null }), history);
        await compareTables(world);
      });
      await fc.assert(property, parameters(alone));
    });

    // On SQLite one writes at a time, whatever is called at once.
    if (together > 0) {
      test("operations at the same moment give what they give in some order", async () => {
        const { opened, queues, close } = await open(backend, 3);
        await reserveOlderIds(opened);
        const property = fc.asyncProperty(opening, atOnce, async (history, operations) => {
          const world = await newWorld(opened);
          for (const operation of history) await operation.run(world);
          await runAtOnce(world, queues, operations);
        });
        // What the moment decides cannot be found again with less.
        await fc.assert(property, { ...parameters(together), endOnFailure: true });
        await close();
      });
    }
  });
}

async function newWorld(opened: Opened): Promise<World & { model: Model; database: DatabaseSubject }> {
  return { model: new Model(), database: await DatabaseSubject.on(opened), leases: [], workflowIds: new Set(), commands: 0 };
}

function parameters(usual: number): fc.Parameters<unknown> {
  return {
    numRuns: Number(MODEL_RUNS ?? usual),
    ...MODEL_SEED !== undefined && { seed: Number(MODEL_SEED) },
    includeErrorInReport: true,
  };
}

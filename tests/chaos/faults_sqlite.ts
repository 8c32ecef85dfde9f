import { chmodSync, closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { openSqlite } from "../../src/sqlite.ts";
import type { Arena, Fault } from "./arena.ts";
import { undoAtExit } from "./at_exit.ts";
import { faultsOfProcesses } from "./faults_processes.ts";
import { runProgram } from "./programs.ts";

/** What happens to a file in `folder`. */
export async function faultsOfFile(folder: string, staleAfterMs: number, fullSign: string): Promise<Pick<Arena, "faults" | "omitted">> {
  const seal = await howToSeal(folder);
  return {
    faults: [
      ...faultsOfProcesses(staleAfterMs),
      held("a foreign BEGIN IMMEDIATE for seconds", folder, "begin immediate", [1_000, 7_000]),
      held("a reader that pins the log", folder, "begin; select count(*) from workflow_attempts", [2_000, 5_000]),
      {
        name: "no page more (max_page_count)",
        async run(_, random) {
          closeSync(openSync(fullSign, "w"));
          await sleep(random.between(500, 2_500));
          rmSync(fullSign);
        },
      },
      ..."why" in seal ? [] : [readOnlyFolder(folder, seal)],
    ],
    omitted: "why" in seal ? [{ name: "the folder is read-only", why: seal.why }] : [],
  };
}

/** What happens on a disk that is small enough to be filled. */
export function faultsOfFullDisk(folder: string, staleAfterMs: number): Fault[] {
  return [
    ...faultsOfProcesses(staleAfterMs),
    {
      name: "the disk is full",
      async run(_, random) {
        const ballast = join(folder, "ballast");
        fill(ballast);
        await sleep(random.between(500, 2_500));
        rmSync(ballast);
      },
    },
  ];
}

function held(name: string, folder: string, sql: string, [least, most]: [number, number]): Fault {
  return {
    name,
    async run(_, random) {
      const db = await openSqlite(join(folder, "queue.db"));
      try {
        for (const statement of sql.split("; ")) db.query(statement).all();
        await sleep(random.between(least, most));
        db.run("rollback");
      } finally {
        db.close();
      }
    },
  };
}

// Nobody has the file open when it happens, so that its log is gone and who comes now has to make it again.
function readOnlyFolder(folder: string, seal: (sealed: boolean) => Promise<void>): Fault {
  return {
    name: "the folder is read-only",
    async run(crew, random) {
      crew.pause();
      await crew.killAll();
      (await openSqlite(join(folder, "queue.db"))).close();
      await seal(true);
      crew.resume();
      await sleep(random.between(2_000, 4_000));
      await seal(false);
    },
  };
}

// The rights of a folder do not bind root, but the immutable flag does.
async function howToSeal(folder: string): Promise<((sealed: boolean) => Promise<void>) | { why: string }> {
  if (process.getuid?.() !== 0) return (sealed) => Promise.resolve(chmodSync(folder, sealed ? 0o555 : 0o755));
  const seal = async (sealed: boolean) => void await runProgram("chattr", [sealed ? "+i" : "-i", folder]);
  undoAtExit("chattr", ["-i", folder]);
  try {
    await seal(true);
    await seal(false);
    return seal;
  } catch (error) {
    return { why: `root writes to read-only folders, and chattr +i failed: ${(error as Error).message.split("\n")[1] ?? error}` };
  }
}

function fill(path: string): void {
  const handle = openSync(path, "w");
  try {
    for (let block = Buffer.alloc(65_536); block.length >= 1; block = block.subarray(0, block.length >> 1)) fillWith(handle, block);
  } finally {
    closeSync(handle);
  }
}

function fillWith(handle: number, block: Buffer): void {
  try {
    while (writeSync(handle, block) === block.length);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}

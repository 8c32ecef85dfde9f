import { closeSync, existsSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openSqlite } from "../../src/sqlite.ts";
import type { Fault, Faults } from "./arena.ts";
import type { Crew } from "./crew.ts";
import { now } from "./clock.ts";
import { faultsOfProcesses } from "./faults_processes.ts";
import { newsOf } from "./news.ts";
import type { Random } from "./random.ts";
import type { SlowDisk } from "./slow_disk.ts";

/** What the faults of a file lay their hands on. */
interface Handles {
  /** Where the database is, and nothing else. */
  folder: string;
  journals: string;
  staleAfterMs: number;
  /** While this file is there the workers let the database grow no more. */
  fullSign: string;
}

export const faultsOfFile: Faults<Handles> = {
  ...faultsOfProcesses,
  "a foreign BEGIN IMMEDIATE for seconds": held("begin immediate", [1_000, 7_000]),
  "a reader that pins the log": held("begin; select count(*) from workflow_attempts", [2_000, 5_000]),
  "no page more (max_page_count)": ({ fullSign, journals }) => async (_, random) => {
    closeSync(openSync(fullSign, "w"));
    return await full(journals, random).finally(() => rmSync(fullSign));
  },
};

/** `seal` makes the folder read-only, and writable again. */
export const faultsOfSealing: Faults<{ folder: string; seal: (sealed: boolean) => Promise<void> }> = {
  // Nobody has the file open when it happens, so that its log is gone and who comes now has to make it again.
  "the folder is read-only": ({ folder, seal }) => async (crew, random) => {
    crew.pause();
    const ended = await crew.killAll();
    (await openSqlite(join(folder, "queue.db"))).close();
    await seal(true);
    crew.resume();
    await sleep(random.between(2_000, 4_000));
    await seal(false);
    return ended;
  },
};

export const faultsOfSlowFile: Faults<{ disk: SlowDisk }> = {
  "slow disk: every sync to disk takes 0.3 s": ({ disk }) => (crew, random) => disk.slowFor(random.between(2_000, 5_000), () => crew.names().length),
};

/** What happens on a disk that is small enough to be filled. */
export const faultsOfFullDisk: Faults<Handles> = {
  ...faultsOfProcesses,
  "the disk is full": ({ folder, journals }) => async (_, random) => {
    const ballast = join(folder, "ballast");
    await emptyLog(folder);
    fill(ballast);
    return await full(journals, random).finally(() => existsSync(ballast) && rmSync(ballast));
  },
};

// What fits into the log as it is takes no room on the disk: a little work would never notice.
async function emptyLog(folder: string): Promise<void> {
  const db = await openSqlite(join(folder, "queue.db"));
  try {
    for (let tries = 100; tries > 0 && db.query("pragma wal_checkpoint(truncate)").get()?.["busy"] !== 0; tries--) await sleep(20);
  } finally {
    db.close();
  }
}

// For a while, and until somebody was told: as long as there is room in what the file has already, nobody is.
async function full(journals: string, random: Random): Promise<number> {
  const told = newsOf(journals);
  const until = now() + random.between(500, 2_500);
  for (let patience = 300; patience > 0 && (now() < until || told(/SQLITE_FULL/) === 0); patience--) await sleep(100);
  return told(/SQLITE_FULL/);
}

function held(sql: string, [least, most]: [number, number]): (handles: Handles) => Fault["run"] {
  return ({ folder }) => async (crew: Crew, random: Random) => {
    const db = await openSqlite(join(folder, "queue.db"));
    try {
      for (const statement of sql.split("; ")) await patiently(() => db.query(statement).all());
      await sleep(random.between(least, most));
      db.run("rollback");
    } finally {
      db.close();
    }
    return crew.names().length;
  };
}

// The crew has the file locked most of the time.
async function patiently(work: () => void): Promise<void> {
  for (let tries = 100;; tries--) {
    try {
      return work();
    } catch (error) {
      if (tries === 0 || !/^SQLITE_BUSY/.test(String((error as { code?: unknown }).code))) throw error;
      await sleep(50);
    }
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

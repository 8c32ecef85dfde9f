import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createQueue } from "../../mod.ts";
import { openSqlite } from "../../src/sqlite.ts";
import { temporaryFolder } from "../support/temp.ts";
import { type Arena, type ArenaSettings, faultsWith, leftOut } from "./arena.ts";
import { undoAtExit } from "./at_exit.ts";
import type { Slot } from "./crew.ts";
import { faultsOfFile, faultsOfFullDisk, faultsOfSealing, faultsOfSlowFile } from "./faults_sqlite.ts";
import { runProgram } from "./programs.ts";
import { howToSeal } from "./seal.ts";
import { makeSlowDisk } from "./slow_disk.ts";
import { KILLER_ROLE, ROLES } from "./work.ts";

const HOUR = 3_600_000;

/** One file on the disk of this machine, and the processes that share it. */
export async function openSqliteArena(settings: ArenaSettings): Promise<Arena> {
  const folder = join(temporaryFolder("chaos-sqlite"), "database");
  mkdirSync(folder);
  const [seal, disk] = [await howToSeal(folder), await makeSlowDisk()];
  return {
    ...fileArena("SQLite", folder, settings, "why" in disk ? undefined : disk.env),
    faults: [
      ...faultsWith(faultsOfFile, { folder, ...settings, fullSign: fullSign(settings) }),
      ..."why" in seal ? [] : faultsWith(faultsOfSealing, { folder, seal }),
      ..."why" in disk ? [] : faultsWith(faultsOfSlowFile, { disk }),
    ],
    omitted: [...leftOut(faultsOfSealing, seal), ...leftOut(faultsOfSlowFile, disk)],
  };
}

/** The same on a disk of its own, so small that it can be filled; where none can be had, says why. */
export async function openTinyDiskArena(settings: ArenaSettings, megabytes: number): Promise<Arena | { why: string }> {
  const folder = temporaryFolder("chaos-disk");
  try {
    await runProgram("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "skiplocked", folder]);
  } catch (error) {
    rmSync(folder, { recursive: true });
    return { why: `mounting a tmpfs takes root: ${(error as Error).message.split("\n")[1] ?? error}` };
  }
  undoAtExit("umount", ["-l", folder]);
  const unmount = () => runProgram("umount", ["-l", folder]).then(() => {}, () => {});
  return { ...fileArena("SQLite on a tiny disk", folder, settings), faults: faultsWith(faultsOfFullDisk, { folder, ...settings, fullSign: fullSign(settings) }), omitted: [], close: unmount };
}

function fullSign({ journals }: ArenaSettings): string {
  return join(journals, "full");
}

function fileArena(name: string, folder: string, settings: ArenaSettings, env: Slot["env"] = {}): Omit<Arena, "faults" | "omitted"> {
  const file = join(folder, "queue.db");
  const slots = [worker("first", 20, HOUR), worker("second", 20, -HOUR), worker("one by one", 1), producer("producer", 0), producer("other producer", 1)];

  function worker(via: string, batch: number, skewMs = 0): Slot {
    const roles = batch === 1 ? [...ROLES, KILLER_ROLE] : ROLES;
    const own = { roles, batch, parallel: 2, reapEveryMs: settings.staleAfterMs / 3, skewMs, fullSign: fullSign(settings), slowSign: settings.slowSign };
    return { name: via, script: "worker", args: { ...common(via), ...own }, env };
  }

  function producer(via: string, share: number): Slot {
    return { name: via, script: "producer", args: { ...common(via), seed: settings.seed, share, of: 2, allowance: settings.allowance }, env };
  }

  function common(via: string) {
    return { via, place: { dialect: "sqlite", file }, journal: join(settings.journals, `${via.replaceAll(" ", "-")}.jsonl`), staleAfterMs: settings.staleAfterMs };
  }

  async function withFile<T>(work: (db: Awaited<ReturnType<typeof openSqlite>>) => T | Promise<T>): Promise<T> {
    const db = await openSqlite(file, { busyTimeoutMs: 100 });
    try {
      return await work(db);
    } finally {
      db.close();
    }
  }

  return {
    name,
    slots,
    migrate: () => withFile(async (db) => void await createQueue(db).migrate()),
    query: (sql) => withFile((db) => db.query(sql).all()),
    close: () => Promise.resolve(),
  };
}

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { freePort, startPostgres } from "../support/postgres_server.ts";
import { serverUser } from "../support/postgres_binaries.ts";
import { killServer } from "./kill_server.ts";
import { runProgram } from "./programs.ts";
import type { SlowDisk } from "./slow_disk.ts";

/** A primary, and a standby that has every commit before it is acknowledged. What happens to them says whom it touched. */
export interface Cluster {
  /** Where the two servers listen; either may be the primary. */
  readonly ports: readonly [number, number];
  primaryPort(): number;
  /** Runs a query on the primary past the library, on a connection of its own. */
  query(sql: string): Promise<Record<string, unknown>[]>;
  /** Stops the primary and starts it again after a while: how many it threw out. */
  restart(mode: "fast" | "immediate", downMs: number): Promise<number>;
  /** Kills one of the primary's own processes: it throws out everybody else and recovers. */
  killBackend(): Promise<number>;
  /** Stops the primary's sender for a while, so that no commit is acknowledged: how many waited for that in the end. */
  freezeSender(ms: number): Promise<number>;
  /** Lets every sync to disk wait, on both servers: how many waited for that in the end. */
  slowDisk(ms: number): Promise<number>;
  /**
   * Ends the primary, promotes the standby, says so, and makes a new standby in the old primary's place: how many were
   * thrown out. By SIGKILL all processes of the primary go at once and none of them can put anything in order.
   */
  failOver(by: "immediate stop" | "SIGKILL", promoted: () => void): Promise<number>;
  stop(): Promise<void>;
}

// What is acknowledged must survive what happens here. Memory is shared by files of the data folder: so it goes with that.
const DURABLE = {
  fsync: "on", full_page_writes: "on", synchronous_commit: "on", wal_level: "replica", hot_standby: "on", wal_keep_size: "1GB",
  max_wal_size: "2GB", max_connections: 150, dynamic_shared_memory_type: "mmap",
};

// For a machine that has ten times as much to do as it can.
const PATIENCE_SECONDS = 300;
const CLIENTS = "from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()";

/** @param disk What slows the disk of both servers down, if that can be had. */
export async function startCluster(disk: SlowDisk | undefined): Promise<Cluster> {
  const server = await startPostgres({ settings: DURABLE });
  const user = serverUser() ?? {};
  // The watchdog of the server stops what runs in any data* folder of it.
  const folders = [server.dataDir, join(server.folder, "data-2")] as const;
  const ports = [server.port, await freePort()] as const;
  let primary = 0;
  const control = (which: number, ...args: string[]) =>
    runProgram(join(server.binDir, "pg_ctl"), ["-D", folders[which]!, "-w", "-t", String(PATIENCE_SECONDS), ...args], { ...user, ...disk && { env: disk.env } });
  const begin = (which: number) =>
    control(which, "-l", join(server.folder, `postgres-${which}.log`), "-o", `-p ${ports[which]}`, "start");

  // Again, with a disk that can be slowed down.
  if (disk) await control(primary, "-m", "fast", "stop").then(() => begin(primary));
  await buildStandby();

  async function buildStandby(): Promise<void> {
    const standby = 1 - primary;
    rmSync(folders[standby]!, { recursive: true, force: true });
    const source = `host=127.0.0.1 port=${ports[primary]} user=postgres`;
    await runProgram(join(server.binDir, "pg_basebackup"), ["-d", source, "-D", folders[standby]!, "-c", "fast", "-X", "stream", "-R", "--no-sync"], user);
    await begin(standby);
    while ((await query("select 1 from pg_stat_replication where state = 'streaming'")).length === 0) await sleep(50);
    await query("alter system set synchronous_standby_names = '*'");
    await query("select pg_reload_conf()");
    while ((await query("select 1 from pg_stat_replication where sync_state = 'sync'")).length === 0) await sleep(50);
    // This commit waits for the standby, and with it every one before.
    await query("create table if not exists standby_is_there (); drop table standby_is_there");
  }

  async function query(text: string): Promise<Record<string, unknown>[]> {
    const sql = postgres({
      host: "127.0.0.1", port: ports[primary]!, username: "postgres", database: "postgres", max: 1, onnotice: () => {}, connect_timeout: PATIENCE_SECONDS,
    });
    try {
      return [...await sql.unsafe(text)];
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  async function count(what: string): Promise<number> {
    const [row] = await query(`select count(*) as n ${what}`);
    return Number(row?.["n"]);
  }

  return {
    ports,
    primaryPort: () => ports[primary]!,
    query,
    async restart(mode, downMs) {
      const thrownOut = await count(CLIENTS);
      await control(primary, "-m", mode, "stop");
      await sleep(downMs);
      await begin(primary);
      return thrownOut;
    },
    async killBackend() {
      const [row] = await query(`select pid ${CLIENTS} order by random() limit 1`);
      if (row) process.kill(Number(row["pid"]), "SIGKILL");
      await sleep(500);
      return Number(row !== undefined);
    },
    async freezeSender(ms) {
      const [row] = await query("select pid from pg_stat_replication");
      if (!row) return 0;
      process.kill(Number(row["pid"]), "SIGSTOP");
      try {
        await sleep(ms);
        return await count(`${CLIENTS} and wait_event = 'SyncRep'`);
      } finally {
        process.kill(Number(row["pid"]), "SIGCONT");
      }
    },
    slowDisk: (ms) => disk!.slowFor(ms, () => count(`${CLIENTS} and wait_event in ('WALSync', 'WALWrite', 'SyncRep')`)),
    async failOver(by, promoted) {
      const thrownOut = await count(CLIENTS);
      if (by === "SIGKILL") await killServer(Number.parseInt(readFileSync(join(folders[primary]!, "postmaster.pid"), "utf8"), 10), folders[primary]!);
      else await control(primary, "-m", "immediate", "stop");
      primary = 1 - primary;
      await control(primary, "promote");
      promoted();
      await buildStandby();
      return thrownOut;
    },
    stop: () => server.stop(),
  };
}

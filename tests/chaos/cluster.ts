import { join } from "node:path";
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { freePort, startPostgres } from "../support/postgres_server.ts";
import { serverUser } from "../support/postgres_binaries.ts";
import { runProgram } from "./programs.ts";

/** A primary, and a standby that has every commit before it is acknowledged. */
export interface Cluster {
  /** Where the two servers listen; either may be the primary. */
  readonly ports: readonly [number, number];
  primaryPort(): number;
  /** Runs a query on the primary past the library, on a connection of its own. */
  query(sql: string): Promise<Record<string, unknown>[]>;
  /** Stops the primary and starts it again after a while. */
  restart(mode: "fast" | "immediate", downMs: number): Promise<void>;
  /** Kills one of the primary's own processes: it throws out everybody else and recovers. */
  killBackend(): Promise<void>;
  /** Stops the standby's receiver for a while, as if its disk stood still: no commit is acknowledged. */
  freezeStandby(ms: number): Promise<void>;
  /** Kills the primary, promotes the standby, says so, and makes a new standby in the old primary's place. */
  failOver(promoted: () => void): Promise<void>;
  stop(): Promise<void>;
}

// What is acknowledged must survive what happens here.
const DURABLE = { fsync: "on", full_page_writes: "on", synchronous_commit: "on", wal_level: "replica", hot_standby: "on", wal_keep_size: "1GB", max_wal_size: "2GB", max_connections: 150 };

export async function startCluster(): Promise<Cluster> {
  const server = await startPostgres({ settings: DURABLE });
  const user = serverUser() ?? {};
  // The watchdog of the server stops what runs in any data* folder of it.
  const folders = [server.dataDir, join(server.folder, "data-2")] as const;
  const ports = [server.port, await freePort()] as const;
  let primary = 0;
  const control = (which: number, ...args: string[]) =>
    runProgram(join(server.binDir, "pg_ctl"), ["-D", folders[which]!, "-w", "-t", "60", ...args], user);
  const begin = (which: number) =>
    control(which, "-l", join(server.folder, `postgres-${which}.log`), "-o", `-p ${ports[which]}`, "start");

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
    const sql = postgres({ host: "127.0.0.1", port: ports[primary]!, username: "postgres", database: "postgres", max: 1, onnotice: () => {}, connect_timeout: 5 });
    try {
      return [...await sql.unsafe(text)];
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  return {
    ports,
    primaryPort: () => ports[primary]!,
    query,
    async restart(mode, downMs) {
      await control(primary, "-m", mode, "stop");
      await sleep(downMs);
      await begin(primary);
    },
    async killBackend() {
      const [row] = await query("select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() order by random() limit 1");
      if (row) process.kill(Number(row["pid"]), "SIGKILL");
      await sleep(500);
    },
    async freezeStandby(ms) {
      const [row] = await query("select client_port, pid from pg_stat_replication");
      if (!row) throw new Error("There is no standby to freeze");
      // The sender on the primary's side, which is at hand: what it does not send is not written there.
      process.kill(Number(row["pid"]), "SIGSTOP");
      await sleep(ms);
      process.kill(Number(row["pid"]), "SIGCONT");
    },
    async failOver(promoted) {
      await control(primary, "-m", "immediate", "stop");
      primary = 1 - primary;
      await control(primary, "promote");
      promoted();
      await buildStandby();
    },
    stop: () => server.stop(),
  };
}

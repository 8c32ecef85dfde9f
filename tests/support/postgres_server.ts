import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import postgres from "postgres";
import { installedPostgres, runnableBinaries, serverUser } from "./postgres_binaries.ts";

const WATCHDOG = new URL("./postgres_watchdog.sh", import.meta.url);
const PORT_ATTEMPTS = 5;

export interface PostgresOptions {
  /**
   * The folder that holds `initdb`, `pg_ctl` and `postgres`.
   * @default the environment's `SKIPLOCKED_POSTGRES_BIN`, else the first of `installedPostgres()`
   */
  binDir?: string;
  /** More lines for postgresql.conf, such as `{ max_connections: 20 }`. */
  settings?: Record<string, string | number>;
}

export interface PostgresServer {
  /** The superuser's connection string, for the database `postgres`. */
  readonly url: string;
  readonly port: number;
  /** The id of the server's main process. */
  readonly pid: number;
  readonly binDir: string;
  /** Everything the server writes is in here; gone after `stop()`. */
  readonly folder: string;
  readonly dataDir: string;
  readonly logFile: string;
  /** Stops the server and removes its folder. Not needed at exit: the watchdog does it then. */
  stop(): Promise<void>;
}

/** Starts a real Postgres of its own, reachable from this machine only. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(options, await freePort());
    } catch (error) {
      // Another process can take the port between the look and the start.
      if (attempt === PORT_ATTEMPTS || !/Address already in use/.test(String(error))) throw error;
    }
  }
}

/** Creates an empty database beside the one of `serverUrl`. */
export async function createDatabase(
  serverUrl: string,
  name: string = `skiplocked_${randomUUID().replaceAll("-", "")}`,
): Promise<{ url: string; name: string; drop(): Promise<void> }> {
  await runOnServer(serverUrl, `create database "${name}"`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    name,
    drop: () => runOnServer(serverUrl, `drop database if exists "${name}" with (force)`),
  };
}

async function startOnce(options: PostgresOptions, port: number): Promise<PostgresServer> {
  const user = serverUser();
  const folder = mkdtempSync(join(tmpdir(), "skiplocked-postgres-"));
  let watchdog: ChildProcess;
  let binDir: string;
  try {
    if (user) chownSync(folder, user.uid, user.gid);
    binDir = runnableBinaries(chooseBinaries(options), folder, user);
    writeFileSync(join(folder, "settings.conf"), settingsFile(port, options.settings));
    // By text and not by path: the server's user may be unable to read this repository.
    watchdog = spawn("/bin/sh", ["-c", readFileSync(WATCHDOG, "utf8"), "watchdog", folder, binDir], {
      ...user,
      cwd: folder,
      env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
      // Out of this process group, so that Ctrl-C does not end the watchdog before its work is done.
      detached: true,
    });
    await ready(watchdog);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  letExit(watchdog);
  const dataDir = join(folder, "data");
  let stopped: Promise<void> | undefined;
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    pid: Number.parseInt(readFileSync(join(dataDir, "postmaster.pid"), "utf8"), 10),
    binDir,
    folder,
    dataDir,
    logFile: join(folder, "postgres.log"),
    stop: () => (stopped ??= stopWatchdog(watchdog)),
  };
}

function chooseBinaries(options: PostgresOptions): string {
  const binDir = options.binDir ?? process.env["SKIPLOCKED_POSTGRES_BIN"] ?? installedPostgres()[0];
  if (binDir === undefined) {
    throw new Error("Cannot find Postgres: put initdb on PATH, name its folder in SKIPLOCKED_POSTGRES_BIN, or run npm ci");
  }
  return binDir;
}

function settingsFile(port: number, more: PostgresOptions["settings"]): string {
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    max_connections: 200,
    fsync: "off",
    full_page_writes: "off",
    ...more,
  };
  return Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`).join("");
}

/** A port that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Resolves once the watchdog's server answers; rejects with its log when it does not come up. */
async function ready(watchdog: ChildProcess): Promise<void> {
  let problem = "";
  watchdog.stderr?.on("data", (text) => (problem += text));
  const answered = once(watchdog.stdout!, "data").then(() => true);
  const ended = once(watchdog, "close").then(() => false);
  if (!(await Promise.race([answered, ended]))) throw new Error(`Cannot start Postgres:\n${problem}`);
}

/** Lets this process end while the server runs: a forgotten `stop()` must not hang a test run. */
function letExit(watchdog: ChildProcess): void {
  watchdog.unref();
  for (const stream of [watchdog.stdin, watchdog.stdout, watchdog.stderr]) (stream as Socket).unref();
}

async function stopWatchdog(watchdog: ChildProcess): Promise<void> {
  if (watchdog.exitCode !== null || watchdog.signalCode !== null) return;
  const exited = once(watchdog, "exit");
  watchdog.ref();
  watchdog.stdin?.end();
  await exited;
}

async function runOnServer(url: string, statement: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
}

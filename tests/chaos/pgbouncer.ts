import { type ChildProcess, spawn } from "node:child_process";
import { chownSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { serverUser } from "../support/postgres_binaries.ts";
import { freePort } from "../support/postgres_server.ts";
import { temporaryFolder } from "../support/temp.ts";
import { runProgram } from "./programs.ts";

/** PgBouncer in transaction mode in front of a server. */
export interface PgBouncer {
  readonly port: number;
  /** Kills it and starts it again after a while. */
  restart(downMs: number): Promise<void>;
  /** Stops it for good. */
  stop(): Promise<void>;
}

interface Program {
  path: string;
  /** Where its libraries are, if it is not installed. */
  libraries?: string;
}

// With what it needs and a fresh machine may lack.
const PACKAGES = ["pgbouncer", "libc-ares2", "libevent-2.1-7"];

/** The program of this machine, or of Debian's package unpacked into a temporary folder; else why there is none. */
export async function findPgBouncer(): Promise<Program | { why: string }> {
  const installed = [...(process.env["PATH"] ?? "").split(":"), "/usr/sbin"].map((folder) => join(folder, "pgbouncer")).find((path) => existsSync(path));
  if (installed !== undefined) return { path: installed };
  for (let tries = 1;; tries++) {
    try {
      return await unpack();
    } catch (error) {
      // Another program may hold apt's lock, or the mirror be out of reach for a moment.
      if (tries === 3 || (error as { code?: unknown }).code === "ENOENT") return { why: `no pgbouncer on PATH, and apt-get download gave none: ${(error as Error).message.split("\n")[0]}` };
      await sleep(tries * 5_000);
    }
  }
}

async function unpack(): Promise<Program> {
  const folder = temporaryFolder("pgbouncer");
  await runProgram("chmod", ["755", folder]);
  // A fresh machine has no lists of packages.
  await download().catch(() => runProgram("apt-get", ["update", "-qq"]).then(download));
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".deb"))) await runProgram("dpkg", ["-x", join(folder, file), join(folder, "root")]);
  const libraries = (await runProgram("find", [join(folder, "root"), "-name", "*.so.*", "-printf", "%h\n"])).split("\n")[0];
  return { path: join(folder, "root/usr/sbin/pgbouncer"), ...libraries && { libraries } };

  function download(): Promise<string> {
    return runProgram("apt-get", ["download", "-qq", ...PACKAGES], { cwd: folder });
  }
}

/** Starts it; every connection to the server serves many clients, one transaction each. */
export async function startPgBouncer({ path, libraries }: Program, serverPort: number): Promise<PgBouncer> {
  const folder = temporaryFolder("pgbouncer-run");
  const port = await freePort();
  const user = serverUser();
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(join(folder, "users.txt"), '"postgres" ""\n');
  writeFileSync(file, `[databases]
postgres = host=127.0.0.1 port=${serverPort} dbname=postgres user=postgres

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, "users.txt")}
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
server_login_retry = 1
logfile = ${join(folder, "pgbouncer.log")}
`);
  if (user) for (const each of [folder, file, join(folder, "users.txt")]) chownSync(each, user.uid, user.gid);
  let child = await begin();
  process.once("exit", () => child.kill("SIGKILL"));

  async function begin(): Promise<ChildProcess> {
    const started = spawn(path, ["-q", file], { ...user, cwd: folder, stdio: "ignore", env: { ...process.env, ...libraries && { LD_LIBRARY_PATH: libraries } } });
    while (!await answers(port)) {
      if (started.exitCode !== null) throw new Error(`pgbouncer ended with code ${started.exitCode}`);
      await sleep(50);
    }
    return started;
  }

  async function end(): Promise<void> {
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await exited;
  }

  return {
    port,
    async restart(downMs) {
      await end();
      await sleep(downMs);
      child = await begin();
    },
    stop: end,
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.on("connect", () => settle(true)).on("error", () => settle(false));
  });
}

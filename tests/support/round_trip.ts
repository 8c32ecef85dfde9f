// Programs of a user's, to be run from a folder of their own on any runtime.
import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { childEnvironment } from "./packed.ts";
import type { Runtime } from "./runtimes.ts";
import { temporaryFolder } from "./temp.ts";

/** How a program gets its connection: from `address`, a url or a file, with the package of this name or with none. */
export const OPEN = {
  postgres: `
    import postgres from "postgres";
    const connection = postgres(address, { onnotice() {} }), close = () => connection.end();`,
  pg: `
    import pg from "pg";
    const connection = new pg.Pool({ connectionString: address }), close = () => connection.end();`,
  "@electric-sql/pglite": `
    import { PGlite } from "@electric-sql/pglite";
    // From a dump: making a database from nothing takes seconds.
    const connection = new PGlite({ loadDataDir: new Blob([(await import("node:fs")).readFileSync(address)]) }), close = () => connection.close();`,
  "better-sqlite3": `
    import Database from "better-sqlite3";
    const connection = new Database(address), close = () => connection.close();`,
  libsql: `
    import Database from "libsql";
    const connection = new Database(address), close = () => connection.close();`,
  nothing: `
    import { openSqlite } from "skiplocked/sqlite";
    const connection = await openSqlite(address), close = () => connection.close();`,
} as const;

/** What {@linkcode roundTrip} prints when all is well. */
export const DONE = '{"repo":"acme/web","held":true,"reaped":{"requeued":[],"stuck":[]},"succeeded":1}';

/** A whole program; its arguments are the address and, for Postgres, a schema. */
export function roundTrip(open: string, args = "process.argv.slice(2)"): string {
  return `
    import { createQueue } from "skiplocked";
    const [address, schema] = ${args};
    ${open}
    const queue = createQueue(connection, { schema });
    await queue.migrate();
    await queue.enqueue({ role: "builder", payload: { repo: "acme/web" } });
    const claim = await queue.dequeue({ roles: ["builder"] });
    const { held } = await queue.heartbeat(claim);
    await queue.complete(claim, { outcome: "built" });
    const reaped = await queue.reap();
    const { roles: [{ succeeded }] } = await queue.stats();
    console.log(JSON.stringify({ repo: claim.payload.repo, held, reaped, succeeded }));
    await close();
  `;
}

/** Writes a program into a folder and runs it from another one, which has nothing; gives what it printed. */
export async function runIn(runtime: Runtime, folder: string, name: string, program: string, args: readonly string[] = []): Promise<string> {
  // Two runtimes may share the folder at once.
  if (!existsSync(join(folder, name))) writeFileSync(join(folder, name), program);
  return await runFile(runtime, join(folder, name), args);
}

/** Runs a file as it is, without a loader or a check of types. */
export function runFile(runtime: Runtime, file: string, args: readonly string[]): Promise<string> {
  return run(runtime.program, [...ARGUMENTS[runtime.kind], file, ...args]);
}

const ARGUMENTS = {
  node: [],
  bun: ["run", "--no-install"],
  deno: ["run", "--allow-all", "--no-check", "--no-prompt", "--no-lock"],
};

// What Node 22 says of its SQLite, whoever uses it.
const EXPERIMENTAL = /^\(node:\d+\) ExperimentalWarning: SQLite .*\n\(Use `node .*\n/;

/** Runs a program from an empty folder; anything on standard error is a failure as well. */
export async function run(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const options = { cwd: elsewhere(), env: childEnvironment(env), timeout: 60_000 };
  const { stdout, stderr } = await promisify(execFile)(program, args, options);
  if (stderr.replace(EXPERIMENTAL, "") !== "") throw new Error(stderr);
  return stdout.trim();
}

let empty: string | undefined;

function elsewhere(): string {
  return empty ??= temporaryFolder("elsewhere");
}

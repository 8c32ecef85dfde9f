import { spawn } from "node:child_process";
import process from "node:process";
import type { Catcher } from "./mutation.ts";

/** What came of a catcher. */
export interface Caught {
  /** How many tests or promises held; without any, nothing was looked at. */
  held: number;
  /** The first that did not hold; undefined if all did. */
  broken: string | undefined;
  output: string;
}

const CONNECTIONS = { postgres: "postgres.js", sqlite: "openSqlite" } as const;
const TIMEOUT_MS = 480_000;

/** Runs it in a copy of the repository, on the connection of the dialect. */
export async function runCatcher(catcher: Catcher, dialect: keyof typeof CONNECTIONS, folder: string, url: string): Promise<Caught> {
  const args = "chaos" in catcher
    ? ["scripts/chaos.ts", ...catcher.chaos]
    : ["--test", "--test-timeout=90000", "--test-force-exit", "--test-reporter=tap", `--test-name-pattern=${catcher.pattern}`, catcher.test];
  const env = { DATABASE_URL: url, SKIPLOCKED_CONNECTION: CONNECTIONS[dialect] };
  const { code, output } = await execute(["--import", import.meta.resolve("tsx"), ...args], folder, env);
  // A machine that is too slow catches nothing.
  if (code === null) throw new Error(`${args.join(" ")} did not end within ${TIMEOUT_MS / 1_000} s`);
  const lines = output.split("\n");
  const broken = lines.find((line) => "chaos" in catcher ? /^(✗|== .*Error)/.test(line) : /^ *not ok/.test(line))?.trim();
  const held = "chaos" in catcher
    ? lines.filter((line) => line.startsWith("✓")).length
    : Number(/^# pass (\d+)$/m.exec(output)?.[1] ?? 0);
  return { held, broken: code === 0 ? undefined : broken ?? `it ended with code ${code}: ${lines.filter(Boolean).at(-1)}`, output };
}

function execute(args: string[], cwd: string, env: Record<string, string>): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...env }, timeout: TIMEOUT_MS });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}

import { spawn } from "node:child_process";
import process from "node:process";
import { PROMISES } from "../chaos/findings.ts";
import type { Catcher } from "./mutation.ts";

/** What came of a catcher. */
export interface Caught {
  /** How many tests or promises held; without any, nothing was looked at. */
  held: number;
  /** The first test that failed, or promise that was broken; undefined if all held. */
  broken: string | undefined;
}

interface Result {
  code: number;
  output: string;
}

const CONNECTIONS = { postgres: "postgres.js", sqlite: "openSqlite" } as const;
const TIMEOUT_MS = 480_000;

/** What a test fails with when the SQL is none, and not when it does the wrong thing. */
const NO_SQL = /^(42|SQLITE_ERROR)/;

/** Runs it in a copy of the repository, on the connection of the dialect. */
export async function runCatcher(catcher: Catcher, dialect: keyof typeof CONNECTIONS, folder: string, url: string): Promise<Caught> {
  const args = "chaos" in catcher
    ? ["scripts/chaos.ts", ...catcher.chaos]
    : ["--test", "--test-timeout=400000", "--test-force-exit", "--test-reporter=tap", `--test-name-pattern=${catcher.pattern}`, catcher.test];
  const env = { DATABASE_URL: url, SKIPLOCKED_CONNECTION: CONNECTIONS[dialect] };
  const { code, output } = await execute(["--import", import.meta.resolve("tsx"), ...args], folder, env);
  // A machine that is too slow catches nothing.
  if (code === null) throw new Error(`it did not end within ${TIMEOUT_MS / 1_000} s`);
  return verdictOf(catcher, { code, output });
}

/**
 * Reads what the catcher said.
 *
 * @throws {Error} If it failed, but not as it should.
 */
export function verdictOf(catcher: Catcher, { code, output }: Result): Caught {
  const lines = output.split("\n");
  const held = "chaos" in catcher ? lines.filter((line) => line.startsWith("✓")).length : Number(/^# pass (\d+)$/m.exec(output)?.[1] ?? 0);
  if (code === 0) return { held, broken: undefined };
  const broken = "chaos" in catcher ? brokenPromise(lines, catcher.promises) : failedTest(lines);
  if (broken === undefined) throw new Error(`it failed for another reason: ${reasonIn(lines)}`);
  return { held, broken };
}

function brokenPromise(lines: readonly string[], promises: readonly (keyof typeof PROMISES)[]): string | undefined {
  const place = lines.findIndex((line) => promises.some((promise) => line.startsWith(`✗ ${PROMISES[promise]}`)));
  return place === -1 ? undefined : `${lines[place]!.slice(2).replace(/ \([\d,]+ looked at\)$/, "")}: ${lines[place + 1]?.trim().slice(0, 120)}`;
}

// A test stands before the suite that it is in.
function failedTest(lines: readonly string[]): string | undefined {
  const place = lines.findIndex((line) => /^ *not ok \d+ - /.test(line));
  const name = lines[place]?.trim();
  if (name === undefined || /\.test\.ts$/.test(name)) return undefined;
  const code = lines.slice(place, lines.indexOf(`${/^ */.exec(lines[place]!)![0]}  ...`, place)).map((line) => /^ *code: '(.*)'$/.exec(line)?.[1]).find((each) => each !== undefined);
  return code !== undefined && NO_SQL.test(code) ? undefined : name;
}

function reasonIn(lines: readonly string[]): string {
  return lines.find((line) => /^(✗|== .*Error)|^ *(not ok|code:|error:)/.test(line))?.trim() ?? lines.filter(Boolean).at(-1) ?? "it said nothing";
}

function execute(args: string[], cwd: string, env: Record<string, string>): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...env }, timeout: TIMEOUT_MS });
    const end = () => child.kill();
    process.once("exit", end);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
    child.on("error", reject);
    child.on("close", (code) => {
      process.removeListener("exit", end);
      resolve({ code, output });
    });
  });
}

import { type ChildProcess, execFile, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Runtime } from "./runtimes.ts";
import { atEnd } from "./testing.ts";

/** Runs a program of this folder to its end and gives the values that it printed, a line of JSON each. */
export async function linesOf(runtime: Runtime, file: string, args: readonly string[] = []): Promise<any[]> {
  const command = runtime.run(pathOf(file), args);
  const { stdout } = await promisify(execFile)(runtime.program, command, { env: environment(), maxBuffer: 2 ** 27 });
  return stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
}

/** A program at work, which says how far it is by a line of JSON each time. */
export interface Program {
  readonly pid: number;
  next(): Promise<any>;
}

/** Starts a program of this folder. It ends with the test at the latest. */
export function start(runtime: Runtime, file: string, args: readonly string[]): Program {
  const child = spawn(runtime.program, runtime.run(pathOf(file), args), { env: environment() });
  let stderr = "";
  child.stderr.on("data", (text) => (stderr += text));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  atEnd(() => ended(child));
  return {
    pid: Number(child.pid),
    async next() {
      const { done, value } = await lines.next();
      if (done) throw new Error(`${runtime.name} ended: ${stderr}`);
      return JSON.parse(value);
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await exit;
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}

// With this variable node:test in the child would speak the runner's binary protocol.
function environment(): NodeJS.ProcessEnv {
  return { ...process.env, NODE_TEST_CONTEXT: undefined };
}

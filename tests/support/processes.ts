import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { atEnd as atEndOfTest } from "./testing.ts";

const BEFORE_EVERY_WORKER = new URL("./die_with_parent.ts", import.meta.url).href;

/** One line of a worker's standard output: a JSON object that says what happened. */
export interface WorkerEvent {
  type: string;
  [key: string]: unknown;
}

export interface Worker {
  readonly pid: number;
  /** Every event so far, oldest first. */
  readonly events: readonly WorkerEvent[];
  /** What the worker wrote to standard error so far. */
  readonly stderr: string;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Calls `listener` with each line of standard output from now on, JSON or not. */
  onLine(listener: (line: string) => void): void;
  /** The next event of this type that no earlier call has returned, waiting for it when need be. */
  nextEvent(type: string, timeoutMs?: number): Promise<WorkerEvent>;
  kill(signal?: NodeJS.Signals): void;
  /** SIGKILL, then waits for the end. */
  stop(): Promise<void>;
}

export interface WorkerOptions {
  /** Run it as another system user; only root can. */
  user?: { uid: number; gid: number };
  /**
   * Told how to stop the worker. The default is the calling test's end, or the suite's; in a `before`
   * hook it would run as soon as the hook ends, so pass another there, and outside of node:test.
   */
  atEnd?: (stop: () => Promise<void>) => void;
}

/** The one place that knows how this runtime runs a TypeScript file. */
export function runCommand(file: string | URL, args: readonly string[] = []): [program: string, args: string[]] {
  const tsx = import.meta.resolve("tsx");
  const path = file instanceof URL ? fileURLToPath(file) : file;
  return [process.execPath, ["--import", tsx, "--import", BEFORE_EVERY_WORKER, path, ...args]];
}

/** Runs a TypeScript file in a process of its own, which ends with the test at the latest. */
export function spawnWorker(
  file: string | URL,
  args: readonly string[] = [],
  env: Record<string, string | undefined> = {},
  { user, atEnd = atEndOfTest }: WorkerOptions = {},
): Worker {
  const child = spawn(...runCommand(file, args), { ...user, env: workerEnvironment(env) });
  const worker = watch(child);
  atEnd(worker.stop);
  return worker;
}

/** Whether a process with this id is still at work. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A process that ended and that nobody has waited for yet still has an id.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

function workerEnvironment(env: Record<string, string | undefined>): NodeJS.ProcessEnv {
  // With this variable node:test in the child would speak the runner's binary protocol.
  return { ...process.env, NODE_TEST_CONTEXT: undefined, ...env };
}

function watch(child: ChildProcessWithoutNullStreams): Worker {
  const events: WorkerEvent[] = [];
  const unread: WorkerEvent[] = [];
  const changed = new Set<() => void>();
  const tellAll = () => changed.forEach((listener) => listener());
  let stderr = "";
  let ended = false;

  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    const event = parseEvent(line);
    if (event === undefined) return;
    events.push(event);
    unread.push(event);
    tellAll();
  });
  child.stderr.on("data", (text) => (stderr += text));
  // The worker may be gone before the pipe to it is closed.
  child.stdin.on("error", () => {});

  const exited: Worker["exited"] = new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      ended = true;
      resolve({ code, signal });
      tellAll();
    });
  });

  function take(type: string): WorkerEvent | undefined {
    const index = unread.findIndex((event) => event.type === type);
    return index === -1 ? undefined : unread.splice(index, 1)[0];
  }

  function nextEvent(type: string, timeoutMs: number = 30_000): Promise<WorkerEvent> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const event = take(type);
        if (event) settle(() => resolve(event));
        else if (ended) fail(`the worker ended (${child.signalCode ?? `code ${child.exitCode}`})`);
      };
      const fail = (why: string) => settle(() => reject(new Error(`No event "${type}": ${why}\n${stderr}`)));
      const timer = setTimeout(() => fail(`waited ${timeoutMs} ms`), timeoutMs);
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        changed.delete(look);
        finish();
      };
      changed.add(look);
      look();
    });
  }

  return {
    pid: child.pid!,
    events,
    get stderr() {
      return stderr;
    },
    exited,
    onLine: (listener) => void lines.on("line", listener),
    nextEvent,
    kill: (signal = "SIGTERM") => void child.kill(signal),
    async stop() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

function parseEvent(line: string): WorkerEvent | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "type" in value ? (value as WorkerEvent) : undefined;
  } catch {
    return undefined;
  }
}

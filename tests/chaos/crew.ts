import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { runCommand } from "../support/processes.ts";
import { USELESS_EXIT_CODE } from "./calls.ts";

/** A place in the crew, which is filled again when the process in it ends. */
export interface Slot {
  readonly name: string;
  readonly script: "worker" | "producer";
  readonly args: object;
  /** The network that it runs in, if not this machine's. */
  readonly namespace?: string;
  /** More of its environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Crew {
  /** The names of the slots whose process runs; `script` chooses some. */
  names(script?: Slot["script"]): string[];
  /** Whether it was there to get it. */
  signal(name: string, signal: NodeJS.Signals): boolean;
  /** What processes said that ended by themselves, without a signal: they never should. */
  readonly complaints: readonly string[];
  /** How often a driver ended its process by an error that nobody can catch. */
  driverCrashes(): number;
  /** Leaves the slots empty whose processes end from now on. */
  pause(): void;
  /** Fills every empty slot. */
  resume(): void;
  /** SIGKILL for all, waits until they are gone, and says how many those were. */
  killAll(): Promise<number>;
}

const RESTART_MS = 100;

/** How a process ended: as it may, by a known fault of its driver, or as none ever should. */
export function judgeEnd(code: number | null, signal: NodeJS.Signals | null, stderr: string): "fine" | "driver crash" | "complaint" {
  if (signal !== null || code === USELESS_EXIT_CODE) return "fine";
  return DRIVER_CRASH.test(stderr) ? "driver crash" : "complaint";
}

// postgres.js 3.4.9 may write on a timer to a socket that is gone by then: issue 1154 of porsager/postgres.
const DRIVER_CRASH = /postgres\/src\/connection\.js[\s\S]*Cannot read properties of null \(reading 'write'\)/;

export function startCrew(slots: readonly Slot[]): Crew {
  const running = new Map<string, { child: ChildProcess; exited: Promise<void> }>();
  const complaints: string[] = [];
  let driverCrashes = 0;
  let paused = false;
  process.once("exit", () => running.forEach(({ child }) => child.kill("SIGKILL")));
  slots.forEach(fill);

  function fill(slot: Slot): void {
    const script = new URL(`./${slot.script}.ts`, import.meta.url);
    const [program, args] = runCommand(script, [JSON.stringify(slot.args)]);
    const command = slot.namespace === undefined ? [program, ...args] : ["ip", "netns", "exec", slot.namespace, program, ...args];
    const child = spawn(command[0]!, command.slice(1), { stdio: ["pipe", "ignore", "pipe"], env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...slot.env } });
    let stderr = "";
    child.stderr?.on("data", (text) => stderr = (stderr + text).slice(-4_000));
    child.stdin?.on("error", () => {});
    const exited = new Promise<void>((resolve) => {
      child.once("close", (code, signal) => {
        running.delete(slot.name);
        const end = judgeEnd(code, signal, stderr);
        if (end === "driver crash") driverCrashes++;
        if (end === "complaint") complaints.push(`${slot.name} ended with code ${code}\n${stderr}`);
        if (!paused) setTimeout(() => paused || running.has(slot.name) || fill(slot), RESTART_MS);
        resolve();
      });
    });
    running.set(slot.name, { child, exited });
  }

  return {
    names: (script) => slots.filter((slot) => running.has(slot.name) && (script ?? slot.script) === slot.script).map(({ name }) => name),
    signal: (name, signal) => running.get(name)?.child.kill(signal) ?? false,
    complaints,
    driverCrashes: () => driverCrashes,
    pause: () => void (paused = true),
    resume() {
      paused = false;
      slots.filter(({ name }) => !running.has(name)).forEach(fill);
    },
    async killAll() {
      const all = [...running.values()];
      all.forEach(({ child }) => child.kill("SIGKILL"));
      await Promise.all(all.map(({ exited }) => exited));
      return all.length;
    },
  };
}

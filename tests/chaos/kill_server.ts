import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { isRunning } from "../support/processes.ts";
import { runProgram } from "./programs.ts";

/** SIGKILL for a Postgres server with all its processes, as if its machine lost its power: none of them can finish anything. */
export async function killServer(pid: number, dataFolder: string): Promise<void> {
  // What stands still starts no process while the others are looked up; they are no group, each leads one of its own.
  process.kill(pid, "SIGSTOP");
  const family = [pid, ...childrenOf(pid)];
  const memory = /^ *\d+ +(\d+) *$/m.exec(readFileSync(join(dataFolder, "postmaster.pid"), "utf8"))?.[1];
  family.forEach(kill);
  while (family.some(isRunning)) await sleep(10);
  // The one thing that outlives it and its folder.
  if (memory !== undefined) await runProgram("ipcrm", ["-m", memory]).catch(() => {});
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => parentOf(pid) === parent);
}

// The name of the program comes before it, in brackets, and may hold anything.
function parentOf(pid: number): number | undefined {
  try {
    return Number(/^.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}

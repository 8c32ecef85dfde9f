import { execFileSync } from "node:child_process";
import process from "node:process";

const undos: [program: string, args: readonly string[]][] = [];

/** Undoes a change to the machine that would outlive this process, should it end before that was done in the proper way. */
export function undoAtExit(program: string, args: readonly string[]): void {
  // Before the temporary folders are removed, which may be what it is about.
  if (undos.length === 0) process.prependOnceListener("exit", undoAll);
  undos.push([program, args]);
}

function undoAll(): void {
  for (const [program, args] of undos.reverse()) {
    try {
      execFileSync(program, args, { stdio: "ignore" });
    } catch {
      // It was undone already.
    }
  }
}

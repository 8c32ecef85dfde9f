import { execFileSync } from "node:child_process";
import process from "node:process";

/** Undoes a change to the machine that would outlive this process, should it end before that was done in the proper way. */
export function undoAtExit(program: string, args: readonly string[]): void {
  // Before the temporary folders are removed, which may be what it is about.
  process.prependOnceListener("exit", () => {
    try {
      execFileSync(program, args, { stdio: "ignore" });
    } catch {
      // It was undone already.
    }
  });
}

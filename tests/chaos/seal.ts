import { chmodSync } from "node:fs";
import process from "node:process";
import { undoAtExit } from "./at_exit.ts";
import { runProgram } from "./programs.ts";

/**
 * How to make a folder read-only and writable again; where that cannot be done, why not. The rights of a folder do not bind
 * root, but the immutable flag does.
 */
export async function howToSeal(folder: string): Promise<((sealed: boolean) => Promise<void>) | { why: string }> {
  if (process.getuid?.() !== 0) return (sealed) => Promise.resolve(chmodSync(folder, sealed ? 0o555 : 0o755));
  const seal = async (sealed: boolean) => void await runProgram("chattr", [sealed ? "+i" : "-i", folder]);
  undoAtExit("chattr", ["-i", folder]);
  try {
    await seal(true);
    await seal(false);
    return seal;
  } catch (error) {
    return { why: `root writes to read-only folders, and chattr +i failed: ${(error as Error).message.split("\n")[1] ?? error}` };
  }
}

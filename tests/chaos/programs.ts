import { execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Runs a program to its end, as another system user if need be. */
export async function runProgram(program: string, args: readonly string[], { env, ...options }: { uid?: number; gid?: number; cwd?: string; env?: Readonly<Record<string, string>> } = {}): Promise<string> {
  const { stdout } = await execute(program, [...args], { env: { ...process.env, LC_ALL: "C", TZ: "UTC", ...env }, cwd: "/", ...options });
  return stdout;
}

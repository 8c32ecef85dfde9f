import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

const folders = new Set<string>();

/** Makes a temporary folder that is removed when this process exits. */
export function temporaryFolder(name: string = "test"): string {
  if (folders.size === 0) process.once("exit", removeFolders);
  const folder = mkdtempSync(join(tmpdir(), `skiplocked-${name}-`));
  folders.add(folder);
  return folder;
}

function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

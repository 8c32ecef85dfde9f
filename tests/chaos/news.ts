import { closeSync, openSync, readSync, statSync } from "node:fs";
import { journalsIn } from "./journal.ts";

/** What journals say from now on: how many of their new lines match. */
export function newsOf(folder: string): (pattern: RegExp) => number {
  const sizes = new Map(journalsIn(folder).map((file) => [file, statSync(file).size]));
  return (pattern) => journalsIn(folder).flatMap((file) => linesFrom(file, sizes.get(file) ?? 0)).filter((line) => pattern.test(line)).length;
}

function linesFrom(file: string, start: number): string[] {
  const buffer = Buffer.alloc(statSync(file).size - start);
  const handle = openSync(file, "r");
  try {
    readSync(handle, buffer, 0, buffer.length, start);
  } finally {
    closeSync(handle);
  }
  return buffer.toString().split("\n");
}

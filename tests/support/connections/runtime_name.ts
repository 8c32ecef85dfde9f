import process from "node:process";

/** The runtime of this process, as the matrix calls it: `Node 22`, `Bun`, `Deno`. */
export function runtimeName(): string {
  if ("Bun" in globalThis) return "Bun";
  return "Deno" in globalThis ? "Deno" : `Node ${process.versions.node.split(".")[0]}`;
}

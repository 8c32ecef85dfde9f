import type { Entry } from "./journal.ts";

/** The name of a worker that said in its journal which instance it is. */
export function workerNames(entries: readonly Entry[]): (instanceId: unknown) => string {
  const names = new Map<unknown, string>();
  for (const entry of entries) if (entry.type === "started") names.set(entry.instanceId, entry.worker);
  return (instanceId) => names.get(instanceId) ?? String(instanceId);
}

/** "attempt 7", "attempts 7–9, 12" */
export function nameAttempts(ids: readonly string[]): string {
  return `${ids.length === 1 ? "attempt" : "attempts"} ${ranges(ids)}`;
}

/** "worker 1 and worker 2", each once. */
export function list(names: readonly string[]): string {
  return [...new Set(names)].sort().join(", ").replace(/, ([^,]*)$/, " and $1");
}

function ranges(ids: readonly string[]): string {
  const runs: [first: number, last: number][] = [];
  for (const id of ids.map(Number).sort((a, b) => a - b)) {
    const run = runs.at(-1);
    if (run?.[1] === id - 1) run[1] = id;
    else runs.push([id, id]);
  }
  return runs.map(([first, last]) => first === last ? `${first}` : `${first}–${last}`).join(", ");
}

import type { Evidence, Finding } from "./evidence.ts";
import { checkCompletions, checkTable } from "./report_once.ts";
import { checkPoison, checkTakenBack, checkZombie } from "./report_taken.ts";

/** Holds the tables and the journals against what the demo promises. */
export async function examine(evidence: Evidence): Promise<Finding[]> {
  return [
    await checkTable(evidence),
    await checkCompletions(evidence),
    await checkTakenBack(evidence),
    await checkZombie(evidence),
    await checkPoison(evidence),
  ];
}

export function holds(findings: readonly Finding[]): boolean {
  return findings.every(({ lines }) => lines.length > 0 && lines.every(({ ok }) => ok));
}

import { HUNG, KNOWN_TO_HANG } from "./calls.ts";
import type { Findings } from "./findings.ts";
import type { UnknownCall } from "./ledger.ts";

/** Calls that never settled, by place in the crew. */
export function hungCalls(unknown: readonly UnknownCall[]): Map<string, UnknownCall[]> {
  const hung = new Map<string, UnknownCall[]>();
  for (const call of unknown) if (call.error === HUNG) hung.set(call.via, [...hung.get(call.via) ?? [], call]);
  return hung;
}

/**
 * A call that never settles is a violation, unless its driver is known for it. Also then there has to be a cause: a process ends
 * with its first such call, so that no place in the crew has more of them than there were faults.
 */
export function checkHung(unknown: readonly UnknownCall[], faults: number, found: Findings): void {
  found.checked("settled");
  for (const [via, calls] of hungCalls(unknown)) {
    const { driver, type } = calls[0]!;
    if (!(driver in KNOWN_TO_HANG)) found.violation("settled", `${calls.length} calls of "${via}" (${driver}) never settled, the first of them ${type}`);
    else if (calls.length > faults) found.violation("settled", `${calls.length} calls of "${via}" (${driver}) never settled, and there were ${faults} faults`);
  }
}

import type { Arena } from "./arena.ts";
import { HUNG, KNOWN_TO_HANG } from "./calls.ts";
import type { Checked } from "./check.ts";
import { hungCalls } from "./check_hung.ts";
import { type FaultFigures, figuresOf } from "./figures.ts";
import type { Finding } from "./findings.ts";
import type { Ledger } from "./ledger.ts";
import type { Course, Plan } from "./run_arena.ts";

const SHOWN = 5;

/** The figures of one arena as text, and whether everything happened that was to happen, and all promises were kept. */
export function report(
  arena: Pick<Arena, "name" | "omitted">, plan: Plan, course: Course, ledger: Ledger, checked: Checked, staleAfterMs: number, seconds: number,
): { text: string; isGood: boolean } {
  const leases = [...ledger.leases.values()].reduce((sum, list) => sum + list.length, 0);
  const figures = figuresOf(course.occurrences, ledger, staleAfterMs);
  const undone = unfulfilled(plan, course, figures, checked.findings);
  const hung = [...hungCalls(ledger.unknown)].map(([via, calls]) => `${via} (${calls[0]!.driver}) ${number(calls.length)}`);
  const known = [...new Set(ledger.unknown.filter(({ error }) => error === HUNG).flatMap(({ driver }) => KNOWN_TO_HANG[driver] ?? []))];
  const isGood = checked.findings.every(({ violations }) => violations.length === 0) && undone.length === 0;
  const lines = [
    `== ${arena.name}: ${number(checked.attempts)} attempts, ${number(course.pieces)} pieces of work (planned: ${number(plan.attempts)}), ${number(leases)} leases, ${number(ledger.calls)} calls in ${Math.round(seconds)} s`,
    "",
    ...faultTable(figures, arena.omitted),
    "",
    `Calls whose effect nobody learned: ${number(ledger.unknown.length)} (${summary(ledger.unknown.map(({ error }) => error))})`,
    `Attempts ended by such a call: ${number(checked.endedUnheard)}; leases and pickups that only such a call can tell of: ${number(checked.unheardLeases)} and ${number(checked.unheardPickups)}.`,
    `No poison, but taken back three times by the faults: ${number(checked.stuckByFaults)}.`,
    `Calls that never settled: ${hung.join(", ") || "none"}${known.length > 0 ? `; known of the driver: ${known.join(", ")}` : ""}.`,
    ...course.driverCrashes > 0 ? [`Processes that postgres.js ended by an error that nobody can catch: ${number(course.driverCrashes)}.`] : [],
    ...course.clockSteps.map(({ ms }) => `The clock of this machine was set by ${Math.round(ms)} ms.`),
    "",
    ...undone.map((text) => `✗ NOT DONE: ${text}`),
    ...checked.findings.flatMap(({ promise, checked: looks, violations }) => [
      `${violations.length === 0 ? "✓" : "✗"} ${promise}${looks > 1 ? ` (${number(looks)} looked at)` : ""}`,
      ...violations.slice(0, SHOWN).map((violation) => `    ${violation}`),
      ...violations.length > SHOWN ? [`    and ${number(violations.length - SHOWN)} more`] : [],
    ]),
  ];
  return { text: lines.join("\n"), isGood };
}

/** What the run was to do and did not: a run that does nothing keeps every promise. */
export function unfulfilled(plan: Plan, course: Pick<Course, "pieces" | "planned">, figures: readonly FaultFigures[], found: readonly Finding[]): string[] {
  const undone: string[] = [];
  if (course.pieces < plan.attempts) undone.push(`${number(course.pieces)} of ${number(plan.attempts)} pieces of work came into the table`);
  if (course.planned.length === 0) undone.push("there was no fault");
  for (const name of course.planned) {
    const fault = figures.find((each) => each.name === name);
    if (fault?.times !== plan.times) undone.push(`${name}: ${fault?.times ?? 0} times instead of ${plan.times}`);
    // Each time it got hold of somebody, or the run had ended there; but what that one held may be done by the time it is felt.
    else if (fault.hands === 0 || fault.touched === 0 && fault.times > 1) undone.push(`${name}: it touched nobody`);
  }
  return [...undone, ...found.filter(({ checked }) => checked === 0).map(({ promise }) => `nobody looked whether ${promise}`)];
}

function faultTable(figures: readonly FaultFigures[], omitted: Arena["omitted"]): string[] {
  const width = Math.max(...[...figures, ...omitted].map(({ name }) => name.length), 5);
  const row = (name: string, cells: readonly string[]) => name.padEnd(width) + cells.map((cell) => cell.padStart(12)).join("");
  return [
    row("fault", ["times", "seconds", "hands on", "touched", "taken back", "unknown", "longest gap"]),
    ...figures.map(({ name, times, seconds, hands, touched, recovered, unknown, longestGapMs }) =>
      row(name, [number(times), seconds.toFixed(1), number(hands), number(touched), number(recovered), number(unknown), `${(longestGapMs / 1_000).toFixed(1)} s`])),
    ...omitted.map(({ name, why }) => `${name.padEnd(width)}  LEFT OUT: ${why}`),
  ];
}

function summary(texts: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).slice(0, 8).map(([text, count]) => `${text} ${number(count)}`).join(", ") || "none";
}

function number(value: number): string {
  return value.toLocaleString("en");
}

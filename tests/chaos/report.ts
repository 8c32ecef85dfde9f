import type { Arena } from "./arena.ts";
import type { Checked } from "./check.ts";
import { type FaultFigures, figuresOf } from "./figures.ts";
import type { Ledger } from "./ledger.ts";
import type { Course } from "./run_arena.ts";

const SHOWN = 5;

/** The figures of one arena as text, and whether all promises were kept. */
export function report(arena: Pick<Arena, "name" | "omitted">, course: Course, ledger: Ledger, checked: Checked, seconds: number): { text: string; isGood: boolean } {
  const leases = [...ledger.leases.values()].reduce((sum, list) => sum + list.length, 0);
  const isGood = checked.findings.every(({ violations }) => violations.length === 0) && checked.attempts > 0;
  const lines = [
    `== ${arena.name}: ${number(checked.attempts)} attempts, ${number(leases)} leases, ${number(ledger.calls)} calls in ${Math.round(seconds)} s`,
    "",
    ...faultTable(figuresOf(course.occurrences, ledger), arena.omitted),
    "",
    `Calls whose effect nobody learned: ${number(ledger.unknown.length)} (${summary(ledger.unknown.map(({ error }) => error))})`,
    `Attempts ended by such a call: ${number(checked.endedUnheard)}. No poison, but taken back three times by the faults: ${number(checked.stuckByFaults)}.`,
    ...course.driverCrashes > 0 ? [`Processes that postgres.js ended by an error that nobody can catch: ${number(course.driverCrashes)}.`] : [],
    "",
    ...checked.findings.flatMap(({ promise, checked: looks, violations }) => [
      `${violations.length === 0 ? "✓" : "✗"} ${promise}${looks > 0 ? ` (${number(looks)} looked at)` : ""}`,
      ...violations.slice(0, SHOWN).map((violation) => `    ${violation}`),
      ...violations.length > SHOWN ? [`    and ${number(violations.length - SHOWN)} more`] : [],
    ]),
  ];
  return { text: lines.join("\n"), isGood };
}

function faultTable(figures: readonly FaultFigures[], omitted: Arena["omitted"]): string[] {
  const width = Math.max(...[...figures, ...omitted].map(({ name }) => name.length), 5);
  const row = (name: string, cells: readonly string[]) => name.padEnd(width) + cells.map((cell) => cell.padStart(12)).join("");
  return [
    row("fault", ["times", "seconds", "touched", "taken back", "unknown", "longest gap"]),
    ...figures.map(({ name, times, seconds, touched, recovered, unknown, longestGapMs }) =>
      row(name, [number(times), seconds.toFixed(1), number(touched), number(recovered), number(unknown), `${(longestGapMs / 1_000).toFixed(1)} s`])),
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

import type { Runtime } from "../tests/support/runtimes.ts";
import type { Counts } from "./test_tally.ts";

/** The result of each cell, by `row|column`. */
export type Matrix = Map<string, Counts>;

const CANNOT_EXIST = "–";
const DID_NOT_RUN = "did not run";

/** The matrix as text, its last line for people; good if each cell ran, ran as many tests as its row, and all of them passed. */
export function formatMatrix(
  matrix: Matrix,
  given: readonly { name: string; differs?: true }[],
  columns: readonly Pick<Runtime, "name" | "version">[],
  isWanted: (row: string, column: string) => boolean,
): { text: string; isGood: boolean } {
  const rows = given.map(({ name }) => name);
  const heads = columns.map(({ name, version }) => name.startsWith("Node") ? `Node ${version}` : `${name} ${version}`);
  const width = Math.max(...rows.map((row) => row.length));
  const line = (name: string, cells: string[]) => name.padEnd(width) + cells.map((cell, place) => cell.padStart(2 + heads[place]!.length)).join("");
  const cell = (row: string, column: string) => {
    const counts = matrix.get(`${row}|${column}`);
    if (counts === undefined) return isWanted(row, column) ? DID_NOT_RUN : CANNOT_EXIST;
    const troubles = [[counts.failed, "failed"], [counts.skipped, "skipped"]].filter(([count]) => count !== 0).map((each) => each.join(" "));
    return troubles.length > 0 ? troubles.join(", ") : String(counts.passed);
  };
  const body = rows.map((row) => line(row, columns.map(({ name }) => cell(row, name))));
  const uneven = given.flatMap(({ name, differs }) => differs ? [] : [name]).filter((row) => new Set(columns.flatMap(({ name }) => matrix.get(`${row}|${name}`)?.passed ?? [])).size > 1);
  const all = [...matrix.values()];
  const missing = rows.some((row) => columns.some(({ name }) => isWanted(row, name) && !matrix.has(`${row}|${name}`)));
  const isGood = !missing && uneven.length === 0 && all.length > 0 && all.every(({ passed, failed, skipped }) => failed === 0 && skipped === 0 && passed > 0);
  const sums = columns.map(({ name }, place) => `${heads[place]}: ${sum([...matrix].flatMap(([key, counts]) => key.endsWith(`|${name}`) ? [counts] : []))}`);
  const notes = [`Tests passed on each connection (rows) under each runtime (columns); ${CANNOT_EXIST} cannot exist.`, ...sums, ...uneven.map((row) => `Not the same number of tests everywhere: ${row}`)];
  return { text: [line("", heads), ...body, "", ...notes, `All: ${sum(all)} in ${all.length} cells`].join("\n"), isGood };
}

function sum(counts: readonly Counts[]): string {
  const total = (of: keyof Counts) => counts.reduce((all, each) => all + each[of], 0);
  return `${total("passed")} passed, ${total("failed")} failed, ${total("skipped")} skipped`;
}

import type { Counts } from "./test_tally.ts";

/** The result of each cell, by `row|column`. */
export type Matrix = ReadonlyMap<string, Counts>;

export interface TableRow {
  /** The heading that it stands under. */
  readonly table: string;
  readonly name: string;
  /** Whether the number of its tests depends on the runtime. */
  readonly differs?: true;
}

export interface TableColumn {
  readonly name: string;
  readonly version: string;
}

// In the first table: cannot exist, but for better-sqlite3 12, which every other Node would have to compile for minutes. In the
// others one runtime of each kind stands for all. With --cover, also: another runtime stands for it.
const NO_CELL = "–";

/**
 * The matrix as text, its last lines for people.
 *
 * @param isWanted Whether a cell was to run.
 * @returns Good if each cell ran, had as many tests as the others of its row, and passed all of them.
 */
export function formatMatrix(
  matrix: Matrix,
  rows: readonly TableRow[],
  columns: readonly TableColumn[],
  isWanted: (row: string, column: string) => boolean,
): { text: string; isGood: boolean } {
  const complaints = rows.flatMap((row) => complain(matrix, row, columns.map(({ name }) => name).filter((column) => isWanted(row.name, column))));
  const tables = [...new Set(rows.map(({ table }) => table))].map((table) => {
    const own = rows.filter((row) => row.table === table);
    const heads = columns.filter(({ name }) => own.some((row) => isWanted(row.name, name)));
    return formatTable(matrix, table, own, heads);
  });
  const sums = columns.map((column) => `${title(column)}: ${sum([...matrix].flatMap(([key, counts]) => key.endsWith(`|${column.name}`) ? [counts] : []))}`);
  const legend = `Tests passed in each row under each runtime. ${NO_CELL}: cannot exist (better-sqlite3 12: not compiled for it here); after the first table, and with --cover, another runtime stands for it.`;
  const all = `All: ${sum([...matrix.values()])} in ${matrix.size} cells`;
  return { text: [...tables, legend, ...complaints, ...sums, all].join("\n"), isGood: complaints.length === 0 && matrix.size > 0 };
}

function formatTable(matrix: Matrix, table: string, rows: readonly TableRow[], columns: readonly TableColumn[]): string {
  const width = Math.max(table.length, ...rows.map(({ name }) => name.length));
  const line = (name: string, cells: string[]) => name.padEnd(width) + cells.map((cell, place) => cell.padStart(2 + title(columns[place]!).length)).join("");
  const body = rows.map((row) => line(row.name, columns.map(({ name }) => {
    const counts = matrix.get(`${row.name}|${name}`);
    return counts === undefined ? NO_CELL : counts.failed + counts.skipped > 0 ? "!" : String(counts.passed);
  })));
  return `${[line(table, columns.map(title)), ...body].join("\n")}\n`;
}

function complain(matrix: Matrix, { name, differs }: TableRow, columns: readonly string[]): string[] {
  const cells = columns.map((column) => ({ cell: `${name} · ${column}`, counts: matrix.get(`${name}|${column}`) }));
  const bad = cells.flatMap(({ cell, counts }) => {
    if (counts === undefined) return [`${cell}: did not run`];
    return counts.passed === 0 || counts.failed + counts.skipped > 0 ? [`${cell}: ${sum([counts])}`] : [];
  });
  const even = differs || new Set(cells.map(({ counts }) => counts?.passed)).size <= 1;
  return bad.length > 0 || even ? bad : [`${name}: not the same number of tests everywhere`];
}

function title({ name, version }: TableColumn): string {
  return name.startsWith("Node") ? `Node ${version}` : `${name} ${version}`;
}

function sum(counts: readonly Counts[]): string {
  const total = (of: keyof Counts) => counts.reduce((all, each) => all + each[of], 0);
  return `${total("passed")} passed, ${total("failed")} failed, ${total("skipped")} skipped`;
}

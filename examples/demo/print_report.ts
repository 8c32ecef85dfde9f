import process from "node:process";
import type { Row } from "./database.ts";
import type { Finding } from "./evidence.ts";
import { columnsOf, fit, isTerminal, paint, type Part, usesColor } from "./terminal.ts";

const SHOWN_ROWS = 16;
const INDENT = "  ";

/** @param name The short name of an instance, in place of which it is printed. */
export function printReport(findings: readonly Finding[], name: (instanceId: unknown) => string): void {
  const stream = process.stdout;
  const color = usesColor(stream);
  print(
    [],
    [["bold", "The proof: queries against the tables, and the journals that the workers kept outside of the database."]],
    [["dim", "Instances are printed by the names of their workers."]],
  );
  findings.forEach(({ title, query, lines }, place) => {
    print([], [["bold", `${place + 1}. ${title}`]]);
    if (query) print(...sqlLines(query.sql), ...(query.show ? table(query.rows, name) : count(query.rows)));
    for (const { ok, text } of lines) console.log(paint([INDENT, ok ? ["green", "✓"] : ["red", "✗"], ` ${text}`], color));
  });

  function print(...lines: Part[][]): void {
    for (const line of lines) console.log(paint(isTerminal(stream) ? fit(line, columnsOf(stream)) : line, color));
  }
}

function sqlLines(sql: string): Part[][] {
  return sql.split("\n").map((text) => [["cyan", `${INDENT}${text}`]]);
}

function count(rows: readonly Row[]): Part[][] {
  return [[["dim", `${INDENT}(${rows.length.toLocaleString("en")} rows)`]]];
}

function table(rows: readonly Row[], name: (instanceId: unknown) => string): Part[][] {
  const columns = Object.keys(rows[0] ?? {});
  const shown = rows.slice(0, SHOWN_ROWS).map((row) => columns.map((column) => name(row[column] ?? "")));
  const widths = columns.map((column, place) => Math.max(column.length, ...shown.map((cells) => cells[place]?.length ?? 0)));
  const align = (cells: string[]) => INDENT + cells.map((cell, place) => cell.padEnd(widths[place] ?? 0)).join("  ").trimEnd();
  const more = rows.length - shown.length;
  return [
    [["dim", align(columns)]],
    ...shown.map((cells): Part[] => [align(cells)]),
    ...(more > 0 ? [[["dim", `${INDENT}… ${more} more`] as const]] : []),
  ];
}

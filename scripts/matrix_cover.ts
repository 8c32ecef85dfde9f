import type { Row } from "./matrix_rows.ts";

type Kind = "node" | "bun" | "deno";

/**
 * The part of the matrix that CI has the time for: each connection under Bun, under Deno and under one Node, each option and each setting
 * once. Which Node, and which runtime for an option, goes round from row to row, so that each runtime meets each kind of connection.
 * The whole takes 16 minutes on two cores, this half of it.
 *
 * @param rows All rows.
 * @param runtimes All runtimes.
 * @param isElsewhere Whether another suite runs the cell in any case, so that it need not be the one that is chosen.
 * @returns The chosen runtimes of each row, by the row's name.
 */
export function cover(
  rows: readonly Row[],
  runtimes: readonly { name: string; kind: Kind }[],
  isElsewhere: (row: string, runtime: string) => boolean,
): Map<string, readonly string[]> {
  return new Map(rows.map((row, turn) => {
    const possible = runtimes.filter(({ name }) => row.runsOn(name));
    const pick = (among: typeof possible) => {
      const fresh = among.filter(({ name }) => !isElsewhere(row.name, name));
      const from = fresh.length > 0 ? fresh : among;
      return from.length === 0 ? [] : [from[turn % from.length]!.name];
    };
    const kinds: readonly Kind[] = ["node", "bun", "deno"];
    return [row.name, row.table === "Connections" ? kinds.flatMap((kind) => pick(possible.filter((runtime) => runtime.kind === kind))) : pick(possible)];
  }));
}

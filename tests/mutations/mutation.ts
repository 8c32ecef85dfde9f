import type { Promised } from "../chaos/findings.ts";

/** A way to break the product that somebody could break it in, and what should notice. */
export interface Mutation {
  readonly name: string;
  readonly dialect: "postgres" | "sqlite";
  readonly edits: readonly Edit[];
  readonly caughtBy: Catcher;
  /** Why nothing can notice it, if that is so: then it has to survive. */
  readonly equivalent?: string;
}

/** Replaces a text wherever it stands in a file; it has to be there. */
export interface Edit {
  /** A query of the dialect, or a path from the root of the repository. */
  readonly file: string;
  readonly from: string | RegExp;
  readonly to: string;
}

/** The cheapest thing that should fail: some tests of a file, or promises that a small fault run finds broken. */
export type Catcher =
  | { readonly test: string; readonly pattern: string }
  | { readonly chaos: readonly string[]; readonly promises: readonly Promised[] };

export const suite = (pattern: string): Catcher => ({ test: "tests/conformance.test.ts", pattern });
export const races = (pattern: string): Catcher => ({ test: "tests/races.test.ts", pattern });

/** A small fault run on one arena; one of the promises has to be broken. */
export function chaos(arena: "Postgres" | "SQLite", attempts: number, promises: readonly Promised[], ...faults: string[]): Catcher {
  const args = ["--seed", "1", "--arena", arena, "--attempts", String(attempts), "--times", "2", ...faults.flatMap((fault) => ["--faults", fault])];
  return { chaos: args, promises };
}

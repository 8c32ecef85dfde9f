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

/** The cheapest thing that should fail: some tests of a file, or a small fault run. */
export type Catcher =
  | { readonly test: string; readonly pattern: string }
  | { readonly chaos: readonly string[] };

export const suite = (pattern: string): Catcher => ({ test: "tests/conformance.test.ts", pattern });
export const races = (pattern: string): Catcher => ({ test: "tests/races.test.ts", pattern });

/** A small fault run on one arena. */
export function chaos(arena: "Postgres" | "SQLite", attempts: number, ...faults: string[]): Catcher {
  return { chaos: ["--seed", "1", "--arena", arena, "--attempts", String(attempts), "--times", "2", ...faults.flatMap((fault) => ["--faults", fault])] };
}

/**
 * The shape of what the generator makes of a file in `sql/<dialect>/queries/`.
 *
 * @module
 */

/** The wire types a header may name. A `?` marks what may be null. */
export type ColumnType = BaseType | `${BaseType}?`;

/**
 * `id` a 64-bit integer, a string in TypeScript; `int` a number; `ms` a span or an instant in milliseconds, a number;
 * `bool`; `text`; `json` JSON text as a parameter, the parsed value as a column.
 */
export type BaseType = "id" | "int" | "ms" | "bool" | "text" | "json";

/** One statement: its text as the driver gets it, and the parameters in the order in which they are bound. */
export interface Statement {
  /** Postgres: `$1`, `$2`, each read as text. SQLite: `:name`, as in the file. */
  readonly text: string;
  /** Names of the parameters. Postgres binds them by place, SQLite by name. */
  readonly params: readonly string[];
  /** Whether its rows are rows of the query; a statement that only locks or only writes has none to give. */
  readonly rows: boolean;
}

/**
 * A query of both dialects. More than one statement means: the few of one transaction, whose rows together are the rows
 * of the query.
 *
 * @typeParam Params The parameters that the header declares.
 * @typeParam Row The columns that the header declares.
 */
export interface Query<Params = unknown, Row = unknown> {
  readonly name: string;
  /** Columns in the order in which every statement with rows gives them. */
  readonly columns: readonly (readonly [name: string, type: ColumnType])[];
  readonly postgres: readonly Statement[];
  readonly sqlite: readonly Statement[];
  /** Never set: carries the types. */
  readonly types?: { params: Params; row: Row };
}

/** A script of several statements that makes or changes tables. */
export interface Script {
  readonly version: number;
  readonly text: string;
}

/** What SQLite stores and gives back: INTEGER is a number, or a bigint with `safeIntegers`; BLOB is a Uint8Array. */
export type SQLiteValue = string | number | bigint | Uint8Array | null;

/** What can be bound: a boolean is stored as 1 or 0, undefined as NULL, a whole number as INTEGER. */
export type SQLiteBinding = SQLiteValue | boolean | undefined;

/** One argument of a statement: a value, one array of values, or one object of named values. */
export type SQLiteParam = SQLiteBinding | readonly SQLiteBinding[] | { readonly [name: string]: SQLiteBinding };

/** A row by column name. */
export type SQLiteRow = Record<string, SQLiteValue>;

/** The arguments of a statement whose parameters have the type `Params`: an array is the list of them. */
export type ParamsOf<Params> = Params extends unknown[] ? Params : [Params];

/** What a statement or script changed. */
export interface Changes {
  /** Rows that it inserted, updated or deleted itself; those of triggers and cascades do not count. */
  changes: number;
  /** The connection's last inserted rowid; a bigint with `safeIntegers`. */
  lastInsertRowid: number | bigint;
}

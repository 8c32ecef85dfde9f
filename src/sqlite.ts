/**
 * The running runtime's own SQLite with the API of bun:sqlite, set up for a queue.
 *
 * ```ts
 * import { openSqlite } from "skiplocked/sqlite";
 *
 * const db = await openSqlite(":memory:");
 * const row = db.query("select :greeting as greeting").get({ greeting: "hello" });
 * console.log(row); // { greeting: "hello" }
 * db.close();
 * ```
 *
 * Which SQLite that is depends on the runtime alone, not on what is installed. On Bun it is bun:sqlite itself, with
 * `strict: true`. On Deno and on Node from 22.16 on it is the built-in `node:sqlite`, in a shim. On older Node it is the
 * package better-sqlite3 in the same shim, and that is to be installed beside this one. (Node 22 warns at the first use that
 * its `node:sqlite` is experimental.)
 *
 * The same calls give the same answers on all of them, down to the `name`, `code` and `errno` of SQLite's errors, but
 * for this (tried with Node 20.20, 22.16, 22.23, 24.0, 24.22 and 26.12, Bun 1.4 and Deno 2.9), and for what differs
 * between versions of SQLite. Everywhere except on Bun:
 *
 * - A statement with parameters that is called without any value is refused; bun:sqlite takes those of the last call, or
 *   NULL.
 * - A bigint of more than 64 bits is refused; bun:sqlite stores its low 64 bits.
 * - A transaction over a function that returns a promise is rolled back and refused; bun:sqlite commits it before the
 *   promise is settled.
 * - After `close` all statements are refused; in bun:sqlite those of `prepare` go on working.
 * - `toString` of a statement shows its parameters, not the values bound to them.
 * - Not there: `byteOffset` of errors; `database` and `default` of transactions; `as`, `columnTypes`, `declaredTypes`,
 *   `native`, `raw`, `reader`, `readonly` and `toJSON` of statements; `aggregate`, `clearQueryCache`, `fileControl`,
 *   `function`, `handle`, `loadExtension`, `onDelete`, `onInsert`, `onUpdate` and `serialize` of databases.
 *
 * With `node:sqlite`:
 *
 * - On Node 22 and 24.0, and on Deno, text is read up to its first NUL character.
 * - On Node 22 and 24.0, and on Deno, a `select *` that is compiled already gives a column that was added meanwhile only
 *   from its second call on.
 * - On Node 22 and 24.0, `pragma writable_schema` can be switched on.
 * - On Deno, `iterate` reads all rows before it gives the first one.
 *
 * Deno needs the permission to read and to write the file. `attach` and `vacuum` fail there without all permissions
 * (`-A`), and a network file system is recognised only with `--allow-sys`.
 *
 * With better-sqlite3:
 *
 * - While rows are read by `iterate`, nothing that writes can run, that statement cannot run again, and `close` does
 *   nothing.
 * - `"text"` in double quotes is always a name; in bun:sqlite it can be a string.
 * - `:a` and `@a` in one statement must have the same value.
 * - A parameter cannot be called `$a::b(c)`.
 * - A column called `__proto__` is not in the rows, except on Deno.
 * - Version 12 stores half of a surrogate pair as three replacement characters, not as one.
 *
 * @module
 */

export type { ClosedByUsing } from "./sqlite/closed_by_using.ts";
export { openSqlite } from "./sqlite/open.ts";
export type { OpenSqliteOptions } from "./sqlite/options.ts";
export type { Database, Statement, Transaction } from "./sqlite/types.ts";
export type { Changes, ParamsOf, SQLiteBinding, SQLiteParam, SQLiteRow, SQLiteValue } from "./sqlite/values.ts";

/**
 * The running runtime's own SQLite with the API of bun:sqlite, set up for a queue. On Node that is the package
 * better-sqlite3, which is to be installed beside this one.
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
 * The same code gives the same answers on Bun, with `strict: true` there, but for this:
 *
 * - A statement with parameters that is called without values is refused. In bun:sqlite it uses those of the last call.
 * - A bigint of more than 64 bits is refused; bun:sqlite stores its low 64 bits.
 * - While rows are read by `iterate`, better-sqlite3 lets the connection run nothing that writes, and not close.
 * - After `close` all statements are unusable; in bun:sqlite those of `prepare` go on working.
 * - `"text"` in double quotes is always a name in better-sqlite3; in bun:sqlite it can be a string.
 * - `toString()` shows the parameters, not the values bound to them.
 * - `:a` and `@a` in one statement must have the same value.
 * - Errors have SQLite's extended `code` (`SQLITE_CONSTRAINT_UNIQUE`), but no `errno` and no `byteOffset`, and another
 *   `name`.
 * - `finalize` frees no memory at once; the garbage collector does.
 * - Not there: `as`, `raw`, `columnTypes`, `declaredTypes`, `serialize`, `deserialize`, `loadExtension`, `fileControl`
 *   and `handle`.
 *
 * @module
 */

export { openSqlite } from "./sqlite/open.ts";
export type { OpenSqliteOptions } from "./sqlite/options.ts";
export type {
  Changes,
  Database,
  ParamsOf,
  SQLiteBinding,
  SQLiteParam,
  SQLiteRow,
  SQLiteValue,
  Statement,
  Transaction,
} from "./sqlite/types.ts";

import { SkiplockedError } from "../errors.ts";
import { PATIENCE_MS, untilNotBusy } from "../wait.ts";
import { loadSqlite } from "./connect.ts";
import type { Connect } from "./driver.ts";
import { refuseNetworkFileSystem } from "./file_system.ts";
import { isMemory, type OpenSqliteOptions, readOptions, type Settings } from "./options.ts";
import type { Database } from "./types.ts";

/**
 * Opens a SQLite database with the running runtime's own SQLite, set up for a queue: write-ahead log,
 * `synchronous=FULL`, foreign keys on, a busy timeout.
 *
 * Any number of processes may open a file at the same moment, also one that does not exist yet. While another process
 * holds the file locked the set-up waits without blocking the event loop, for 5 seconds in all.
 *
 * @param path The file, or `":memory:"`. Its folder must exist.
 * @param options How to open it.
 * @returns The database, with the API of bun:sqlite.
 * @throws {SkiplockedError} `invalid_argument` for a wrong path or option, `driver_missing` on a Node before 22.16 if
 * better-sqlite3 does not load, `unsupported_filesystem` for a file on a network file system or one that cannot have a write-ahead log, `busy`
 * if the file stayed locked. What SQLite itself reports has its code, `SQLITE_CANTOPEN` or `SQLITE_NOTADB` for example.
 *
 * @example A queue in one file
 * ```ts
 * import { openSqlite } from "skiplocked/sqlite";
 *
 * const db = await openSqlite(":memory:");
 * db.run("create table jobs (id integer primary key, name text not null)");
 * db.query("insert into jobs (name) values (:name)").run({ name: "build" });
 * console.log(db.query("select name from jobs").all()); // [ { name: "build" } ]
 * db.close();
 * ```
 */
export async function openSqlite(path: string, options: OpenSqliteOptions = {}): Promise<Database> {
  return await openWith(loadSqlite, path, options);
}

/** The same with a driver of the caller's choice. */
export async function openWith(load: () => Promise<Connect>, path: string, options: OpenSqliteOptions): Promise<Database> {
  const settings = readOptions(path, options);
  const file = isMemory(path) ? ":memory:" : path;
  if (!isMemory(file) && !settings.allowNetworkFileSystem) await refuseNetworkFileSystem(file);
  const connect = await load();
  const database = connect(file, settings);
  try {
    await untilNotBusy(() => setUp(database, settings), (cause) => busy(file, cause));
    database.run(`pragma busy_timeout = ${settings.busyTimeoutMs}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** May be repeated. SQLite answers "busy" here whatever the busy timeout, when others switch to the log as well. */
function setUp(database: Database, { readonly, synchronous }: Settings): void {
  database.run("pragma foreign_keys = on");
  if (readonly) return;
  const mode = database.query<{ journal_mode: string }>("pragma journal_mode = wal").get()?.journal_mode;
  if (mode !== "wal" && !isMemory(database.filename)) {
    throw new SkiplockedError(
      "unsupported_filesystem",
      `Cannot open "${database.filename}": SQLite keeps its journal mode "${mode}" where "wal" is needed;` +
        " the file system has no shared memory for it, move the file to a local disk",
    );
  }
  database.run(`pragma synchronous = ${synchronous}`);
}

function busy(file: string, cause: unknown): SkiplockedError {
  return new SkiplockedError("busy", `Cannot open "${file}": another process kept it locked for ${PATIENCE_MS} ms`, { cause });
}

import type { DriverName } from "./sqlite_drivers.ts";

/** A line of the list in `src/sqlite.ts`, and the calls that show it. */
export interface Difference {
  readonly line: string;
  readonly calls: readonly string[];
  /** Where they are answered differently than by bun:sqlite. */
  shownBy(driver: DriverName, runtime: string): boolean;
}

const always = () => true;
const nodeSqlite = (driver: DriverName) => driver === "node:sqlite";
const betterSqlite3 = (driver: DriverName) => driver.startsWith("better-sqlite3");
const node22OrDeno = (driver: DriverName, runtime: string) => nodeSqlite(driver) && ["Node 22", "Deno"].includes(runtime);

/** All that is known to differ. */
export const DIFFERENCES: readonly Difference[] = [
  {
    line: "A statement with parameters that is called without any value is refused; bun:sqlite takes those of the last call, or NULL.",
    calls: ["parameters without values", "parameters without values, after a call with them"],
    shownBy: always,
  },
  {
    line: "A bigint of more than 64 bits is refused; bun:sqlite stores its low 64 bits.",
    calls: ["a bigint of 65 bits"],
    shownBy: always,
  },
  {
    line: "A transaction over a function that returns a promise is rolled back and refused; bun:sqlite commits it before the promise is settled.",
    calls: ["transaction over a promise"],
    shownBy: always,
  },
  {
    line: "After `close` all statements are refused; in bun:sqlite those of `prepare` go on working.",
    calls: ["a statement of prepare after close"],
    shownBy: always,
  },
  {
    line: "`toString` of a statement shows its parameters, not the values bound to them.",
    calls: ["toString of a statement with values"],
    shownBy: always,
  },
  {
    line: "Not there: `byteOffset` of errors; `database` and `default` of transactions; `as`, `columnTypes`, `declaredTypes`, `native`," +
      " `raw`, `reader`, `readonly` and `toJSON` of statements; `aggregate`, `clearQueryCache`, `fileControl`, `function`, `handle`," +
      " `loadExtension`, `onDelete`, `onInsert`, `onUpdate` and `serialize` of databases.",
    calls: ["members of an error", "members of a transaction", "members of a statement", "members of a database"],
    shownBy: always,
  },
  {
    line: "On Node 22 and 24.0, and on Deno, text is read up to its first NUL character.",
    calls: ["a text with a NUL"],
    shownBy: node22OrDeno,
  },
  {
    line: "On Node 22 and 24.0, and on Deno, a `select *` that is compiled already gives a column that was added meanwhile only from its second call on.",
    calls: ["a column added under a statement"],
    shownBy: node22OrDeno,
  },
  {
    line: "On Node 22 and 24.0, `pragma writable_schema` can be switched on.",
    calls: ["writable_schema"],
    shownBy: (driver, runtime) => nodeSqlite(driver) && runtime === "Node 22",
  },
  {
    line: "On Deno, `iterate` reads all rows before it gives the first one.",
    calls: ["iterate sees rows that are written meanwhile", "iterate fails at its second row"],
    shownBy: (driver, runtime) => nodeSqlite(driver) && runtime === "Deno",
  },
  {
    line: "While rows are read by `iterate`, nothing that writes can run, that statement cannot run again, and `close` does nothing.",
    calls: [
      "iterate while another statement writes",
      "iterate sees rows that are written meanwhile",
      "iterate while the same statement runs",
      "close while iterating",
      "the next row after close",
    ],
    shownBy: betterSqlite3,
  },
  {
    line: '`"text"` in double quotes is always a name; in bun:sqlite it can be a string.',
    calls: ["a name in double quotes that is none"],
    shownBy: betterSqlite3,
  },
  {
    line: "`:a` and `@a` in one statement must have the same value.",
    calls: ['select :a, @a <- [{":a":1,"@a":2}]', "select :a, @a <- [1,2]"],
    shownBy: betterSqlite3,
  },
  {
    line: "A parameter cannot be called `$a::b(c)`.",
    calls: ["select $a::b(c), :d <- [1,2]"],
    shownBy: betterSqlite3,
  },
  {
    line: "A column called `__proto__` is not in the rows, except on Deno.",
    calls: ['select 1 as "__proto__", 2 as "constructor", 3 as "" <- []'],
    shownBy: (driver, runtime) => betterSqlite3(driver) && runtime !== "Deno",
  },
  {
    line: "Version 12 stores half of a surrogate pair as three replacement characters, not as one.",
    calls: ['select ? as v, typeof(?1) as type, quote(?1) as quoted <- ["\\ud800"]'],
    shownBy: (driver) => driver === "better-sqlite3 12",
  },
];

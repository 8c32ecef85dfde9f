// How each connection of table.ts is opened. Drivers are loaded when they are needed: not every runtime loads all of them.
import { bunSql, bunSqlTransaction } from "./bun_sql.ts";
import { clientTransaction, nodePostgresClient, nodePostgresPool } from "./node_postgres.ts";
import type { Open } from "./opened.ts";
import { pglite, pgliteTransaction } from "./pglite.ts";
import { postgresJs, postgresJsTransaction } from "./postgres_js.ts";
import { settings } from "./settings.ts";
import { betterSqlite3, bunSqlite, libsql, nodeSqlite, shim } from "./sqlite.ts";
import { underSetting } from "./under_setting.ts";

const odd = { parse: () => "replaced", serialize: String };
const oddTypes = Object.fromEntries([16, 20, 23, 25, 114, 1114, 1184, 3802].map((oid) => [`t${oid}`, { ...odd, to: oid, from: [oid] }]));
const oddRows = { value: { from: () => "replaced" }, row: { from: (row: object) => Object.fromEntries(Object.entries(row).filter(([, cell]) => cell !== null)) } };

/** By name. */
export const open: Record<string, Open> = {
  "postgres.js": postgresJs({}),
  "postgres.js, prepare: false": postgresJs({ prepare: false }),
  "postgres.js, fetch_types: false": postgresJs({ fetch_types: false }),
  "postgres.js, transform: camel": postgresJs({ transform: "camel" }),
  "postgres.js, parsers replaced": postgresJs({ types: oddTypes, transform: oddRows }),
  "postgres.js, pool of one": postgresJs({ max: 1 }),
  "postgres.js, in a transaction": postgresJsTransaction,
  "Bun.SQL": bunSql({}),
  "Bun.SQL, prepare: false": bunSql({ prepare: false }),
  "Bun.SQL, bigint: true": bunSql({ bigint: true }),
  "Bun.SQL, pool of one": bunSql({ max: 1 }),
  "Bun.SQL, in a transaction": bunSqlTransaction,
  "pg Pool": nodePostgresPool({}),
  "pg Pool, pool of one": nodePostgresPool({ max: 1 }),
  "pg Pool, parsers replaced": nodePostgresPool({ types: { getTypeParser: () => () => "replaced" } }),
  "pg Client": nodePostgresClient,
  "pg Client, in a transaction": clientTransaction,
  PGlite: pglite({}),
  "PGlite, parsers replaced": pglite({ parsers: { 25: () => "replaced", 23: () => "replaced" } }),
  "PGlite, in a transaction": pgliteTransaction,
  openSqlite: shim(),
  "openSqlite, in a transaction": shim({ begin: true }),
  "better-sqlite3 12": betterSqlite3("better-sqlite3"),
  "better-sqlite3 12, safeIntegers": betterSqlite3("better-sqlite3", { safeIntegers: true }),
  "better-sqlite3 13": betterSqlite3("better-sqlite3 13"),
  "better-sqlite3 13, safeIntegers": betterSqlite3("better-sqlite3 13", { safeIntegers: true }),
  libsql: libsql,
  "node:sqlite": nodeSqlite({}),
  "node:sqlite, all options": nodeSqlite({ readBigInts: true, returnArrays: true, allowBareNamedParameters: false }),
  "bun:sqlite, strict": bunSqlite({ strict: true }),
  "bun:sqlite, not strict": bunSqlite({}),
  "bun:sqlite, safeIntegers": bunSqlite({ strict: true, safeIntegers: true }),
  ...Object.fromEntries(settings.map((setting) => [setting.name, underSetting(setting)])),
};

import { settings } from "./settings.ts";

/** A driver with some of its options, as the matrix knows it. What opens it is in `open.ts`, which only tests can load. */
export interface ConnectionEntry {
  readonly name: string;
  readonly dialect: "postgres" | "sqlite";
  /** Whether it is a server's, which `DATABASE_URL` names. */
  readonly needsServer: boolean;
  /** Whether it can exist under a runtime: `Node 22`, `Bun`, `Deno`. */
  runsOn(runtime: string): boolean;
  /** Whether it is a connection of another row with an option: one Node stands for all, since the driver is the same code. */
  readonly isOption?: boolean;
  /** Whether `npm test` runs on it; `npm run matrix` runs on all. */
  readonly daily?: boolean;
  /** Whether the queue works in a transaction of the caller's that is open all the time. */
  readonly inTransaction?: boolean;
  /** Whether the driver itself loses U+FEFF at the beginning of a text that it reads, as the decoder of PGlite 0.5 does. */
  readonly dropsByteOrderMark?: boolean;
}

type Flags = Pick<ConnectionEntry, "daily" | "isOption" | "inTransaction" | "dropsByteOrderMark">;

const everywhere = () => true;
const onOneOfEach = (runtime: string) => ["Node 20", "Bun", "Deno"].includes(runtime);
const onBun = (runtime: string) => runtime === "Bun";
const onNode20 = (runtime: string) => runtime === "Node 20";
const notOnNode20 = (runtime: string) => runtime !== "Node 20";
const onNewNode = (runtime: string) => ["Node 22", "Node 26", "Bun", "Deno"].includes(runtime);

export const connections: readonly ConnectionEntry[] = [
  server("postgres.js", everywhere, { daily: true }),
  server("postgres.js, prepare: false", onOneOfEach, { isOption: true }),
  server("postgres.js, fetch_types: false", onOneOfEach, { isOption: true }),
  server("postgres.js, transform: camel", onOneOfEach, { isOption: true }),
  server("postgres.js, parsers replaced", onOneOfEach, { isOption: true }),
  server("postgres.js, pool of one", onOneOfEach, { isOption: true }),
  server("postgres.js, in a transaction", everywhere, { inTransaction: true }),
  server("Bun.SQL", onBun),
  server("Bun.SQL, prepare: false", onBun, { isOption: true }),
  server("Bun.SQL, bigint: true", onBun, { isOption: true }),
  server("Bun.SQL, pool of one", onBun, { isOption: true }),
  server("Bun.SQL, in a transaction", onBun, { inTransaction: true }),
  server("pg Pool", everywhere, { daily: true }),
  server("pg Pool, pool of one", onOneOfEach, { isOption: true }),
  server("pg Pool, parsers replaced", onOneOfEach, { isOption: true }),
  server("pg Client", everywhere),
  server("pg Client, in a transaction", everywhere, { inTransaction: true }),
  postgres("PGlite", everywhere, { daily: true, dropsByteOrderMark: true }),
  postgres("PGlite, parsers replaced", onNode20, { isOption: true, dropsByteOrderMark: true }),
  postgres("PGlite, in a transaction", onNode20, { isOption: true, inTransaction: true, dropsByteOrderMark: true }),
  sqlite("openSqlite", everywhere, { daily: true }),
  sqlite("openSqlite, in a transaction", everywhere, { inTransaction: true }),
  sqlite("better-sqlite3 12", onNode20, { daily: true }),
  sqlite("better-sqlite3 12, safeIntegers", onNode20, { isOption: true }),
  sqlite("better-sqlite3 13", notOnNode20),
  sqlite("better-sqlite3 13, safeIntegers", onNewNode, { isOption: true }),
  sqlite("libsql", everywhere, { daily: true }),
  sqlite("node:sqlite", notOnNode20, { daily: true }),
  sqlite("node:sqlite, all options", onNewNode, { isOption: true }),
  sqlite("bun:sqlite, strict", onBun, { daily: true }),
  sqlite("bun:sqlite, not strict", onBun, { isOption: true }),
  sqlite("bun:sqlite, safeIntegers", onBun, { isOption: true }),
  // What is set on the server is the same under every runtime.
  ...settings.map(({ name }) => server(name, onNode20)),
];

function server(name: string, runsOn: ConnectionEntry["runsOn"], flags?: Flags): ConnectionEntry {
  return { name, dialect: "postgres", needsServer: true, runsOn, ...flags };
}

function postgres(name: string, runsOn: ConnectionEntry["runsOn"], flags?: Flags): ConnectionEntry {
  return { name, dialect: "postgres", needsServer: false, runsOn, ...flags };
}

function sqlite(name: string, runsOn: ConnectionEntry["runsOn"], flags?: Flags): ConnectionEntry {
  return { name, dialect: "sqlite", needsServer: false, runsOn, ...flags };
}

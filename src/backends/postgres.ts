/**
 * Postgres through any driver that is adapted to a {@linkcode PostgresConnection}.
 *
 * @module
 */

import { explainPostgres, isCollision, isSerializationFailure } from "../driver_errors.ts";
import type { Query } from "../query.ts";
import { decodeRows, textParams } from "../rows.ts";
import { jitteredWait } from "../wait.ts";
import type { Backend } from "./backend.ts";
import { exclusive } from "./exclusive.ts";
import { migratePostgres } from "./migrate_postgres.ts";
import { type PostgresConnection, type PostgresSession, quoteIdentifier } from "./postgres_connection.ts";
import { recognisePostgresTransaction } from "./recognise_postgres.ts";

// Planned once for a connection: planning takes as long as running them. All others are planned each time, for the tables as
// they are by then: a plan that was made for small tables reads all of the big ones.
const FREQUENT: ReadonlySet<string> = new Set(["dequeue", "dequeue_many", "enqueue", "complete", "fail", "release"]);

// Collisions are over in milliseconds; ten rounds wait two seconds at the most.
const MAX_RETRIES = 10;

// In one transaction of the caller's several migrations would not keep each other out, and mix up the search_path that each
// sets and sets back.
const oneByOne = exclusive(Symbol.for("skiplocked: one migration"));

/**
 * @param connection The caller's, or a transaction of it.
 * @param schema The schema of the tables.
 */
export function postgresBackend(connection: PostgresConnection, schema: string): Backend {
  const qualify = qualifier(schema);
  // Under another default isolation level statements fail by design: once one did, each brings its own level along.
  let isolate = false;

  const backend: Backend = { dialect: "postgres", run, transaction, migrate, within };
  return backend;

  async function run<Params, Row>(query: Query<Params, Row>, params: Params): Promise<Row[]> {
    const alone = query.postgres.length === 1;
    const rows = await owned((again) => {
      if (alone && !again && !isolate) return execute(connection, query, params);
      return begin((session) => execute(session, query, params));
    });
    return decodeRows(query, rows);
  }

  function transaction<T>(work: (backend: Backend) => Promise<T>): Promise<T> {
    return owned(() => begin((session) => work(postgresBackend({ ...session, of: session, begin: null }, schema))));
  }

  function migrate() {
    return oneByOne(connection.of, () => owned(() => begin((session) => migratePostgres(session, schema))));
  }

  function within(transaction: unknown): Backend {
    return postgresBackend(recognisePostgresTransaction(transaction), schema);
  }

  // Runs what is the library's own again when others were in the way; inside the caller's transaction that is the caller's.
  async function owned<T>(attempt: (again: boolean) => Promise<T>): Promise<T> {
    for (let retries = 0;; retries++) {
      try {
        return await attempt(retries > 0);
      } catch (error) {
        const callers = connection.begin === null || connection.isFinal?.(error);
        if (callers || !isCollision(error) || retries === MAX_RETRIES) throw explainPostgres(error, schema);
        isolate ||= isSerializationFailure(error);
        await jitteredWait(Math.min(250, 5 * 2 ** retries));
      }
    }
  }

  function begin<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    return connection.begin === null ? work(connection) : connection.begin(work);
  }

  async function execute<Params>(session: PostgresSession, query: Query<Params>, params: Params): Promise<unknown[]> {
    const prepare = FREQUENT.has(query.name);
    const rows: unknown[] = [];
    for (const statement of query.postgres) {
      const some = await session.query(qualify(statement.text), textParams(statement.params, params), prepare);
      if (statement.rows) rows.push(...some);
    }
    return rows;
  }
}

// Names every table with its schema: whoever sets search_path for other reasons changes no answer.
function qualifier(schema: string): (text: string) => string {
  const identifier = quoteIdentifier(schema);
  // In an E'' literal, which reads the same whatever standard_conforming_strings says.
  const literal = identifier.replaceAll("\\", "\\\\").replaceAll("'", "''");
  const known = new Map<string, string>();
  return (text) => {
    let qualified = known.get(text);
    if (qualified === undefined) {
      // In one pass: the name of the schema may itself look like what is replaced.
      qualified = text.replaceAll(/"@schema(-literal)?"/g, (_, inLiteral?: string) => inLiteral === undefined ? identifier : literal);
      known.set(text, qualified);
    }
    return qualified;
  };
}

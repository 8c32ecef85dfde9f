/**
 * Postgres through postgres.js.
 *
 * @module
 */

import { explainPostgres, isCollision, isSerializationFailure } from "../driver_errors.ts";
import { SkiplockedError } from "../errors.ts";
import type { Query } from "../query.ts";
import { decodeRows, textParams } from "../rows.ts";
import { jitteredWait } from "../wait.ts";
import type { Backend } from "./backend.ts";
import { migratePostgres } from "./migrate_postgres.ts";
import { isPool, isPostgresJs, type PostgresJs, type PostgresJsPool, quoteIdentifier } from "./postgres_js.ts";

// Several statements need to see what was committed between them. The role's default may be another level.
const ISOLATION = "isolation level read committed";

// Planned once for a connection: planning takes as long as running them. All others are planned each time, for the tables as
// they are by then: a plan that was made for small tables reads all of the big ones.
const FREQUENT: ReadonlySet<string> = new Set(["dequeue", "dequeue_many", "enqueue", "complete", "fail", "release"]);

// Collisions are over in milliseconds; ten rounds wait two seconds at the most.
const MAX_RETRIES = 10;

/**
 * @param sql The caller's pool or transaction.
 * @param schema The schema of the tables.
 */
export function postgresBackend(sql: PostgresJs | PostgresJsPool, schema: string): Backend {
  const pool = isPool(sql) ? sql : null;
  const qualify = qualifier(schema);
  // Under another default isolation level statements fail by design: once one did, each brings its own level along.
  let isolate = false;

  const backend: Backend = { dialect: "postgres", run, transaction, migrate, within };
  return backend;

  async function run<Params, Row>(query: Query<Params, Row>, params: Params): Promise<Row[]> {
    const alone = query.postgres.length === 1;
    const rows = await owned((again) => {
      if (alone && !again && !isolate) return execute(sql, query, params);
      return begin((transaction) => execute(transaction, query, params));
    });
    return decodeRows(query, rows);
  }

  function transaction<T>(work: (backend: Backend) => Promise<T>): Promise<T> {
    return owned(() => begin((transaction) => work(postgresBackend(transaction, schema))));
  }

  function migrate() {
    return owned(() => begin((transaction) => migratePostgres(transaction, schema)));
  }

  function within(transaction: unknown): Backend {
    if (!isPostgresJs(transaction) || isPool(transaction)) {
      throw new SkiplockedError("unsupported_connection", "Cannot use this as a transaction: pass the one that sql.begin gives its callback");
    }
    return postgresBackend(transaction, schema);
  }

  // Runs what is the library's own again when others were in the way; inside the caller's transaction that is the caller's.
  async function owned<T>(attempt: (again: boolean) => Promise<T>): Promise<T> {
    for (let retries = 0;; retries++) {
      try {
        return await attempt(retries > 0);
      } catch (error) {
        if (pool === null || !isCollision(error) || retries === MAX_RETRIES) throw explainPostgres(error, schema);
        isolate ||= isSerializationFailure(error);
        await jitteredWait(Math.min(250, 5 * 2 ** retries));
      }
    }
  }

  async function begin<T>(work: (transaction: PostgresJs) => Promise<T>): Promise<T> {
    return pool === null ? work(sql) : await pool.begin(ISOLATION, work) as T;
  }

  async function execute<Params>(on: PostgresJs, query: Query<Params>, params: Params): Promise<unknown[]> {
    const prepare = FREQUENT.has(query.name);
    const rows: unknown[] = [];
    for (const statement of query.postgres) {
      const some = await on.unsafe(qualify(statement.text), textParams(statement.params, params), { prepare });
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
      qualified = text.replaceAll('"@schema"', () => identifier).replaceAll('"@schema-literal"', () => literal);
      known.set(text, qualified);
    }
    return qualified;
  };
}

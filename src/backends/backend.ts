/**
 * What the queue needs of a database, whatever drives it.
 *
 * @module
 */

import type { Query } from "../query.ts";

/** The version of the tables before and after a migration; 0: there were none. */
export interface Migrated {
  /** Before. */
  from: number;
  /** After: the version of this code. */
  to: number;
}

/** A database behind a connection of the caller's. */
export interface Backend {
  readonly dialect: "postgres" | "sqlite";
  /** Runs a query as one transaction and gives its rows. Nothing is awaited before the first statement is sent. */
  run<Params, Row>(query: Query<Params, Row>, params: Params): Promise<Row[]>;
  /** Runs several queries as one transaction, where one after the other may have to wait for what others do. */
  transaction<T>(work: (backend: Backend) => Promise<T>): Promise<T>;
  /** Makes or upgrades the tables. */
  migrate(): Promise<Migrated>;
  /** The same on a transaction of the caller's. */
  within(transaction: unknown): Backend;
}

/** What runs SQL with parameters. Drivers' own types are not used: nobody needs the packages. */
export interface QueryConnection {
  /** Runs a text with its parameters. */
  query(text: string, values?: any[]): PromiseLike<{ rows: any[] }>;
}

/** A Pool or Client of node-postgres, by what it is known by. */
export interface NodePostgres extends QueryConnection {
  /** Of a pool: a client of it. */
  connect(...args: any[]): any;
}

/** PGlite, or a transaction of it, by what it is known by. */
export interface PGliteShape extends QueryConnection {
  /** Runs a text of several statements. */
  exec(text: string): PromiseLike<unknown>;
}

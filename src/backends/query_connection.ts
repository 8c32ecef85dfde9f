/** The part of node-postgres and of PGlite that is called. Their own types are not used: nobody needs the packages. */
export interface QueryConnection {
  /** Runs a text with its parameters. */
  query(text: string, values?: any[]): PromiseLike<{ rows: any[] }>;
}

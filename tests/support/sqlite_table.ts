import type { Database } from "../../src/sqlite.ts";

/** What the table t of the calls holds. */
export function rows(db: Database): unknown[] {
  return db.query("select v from t order by id").values().flat();
}

export function add(db: Database, v: unknown): unknown {
  return db.query("insert into t (v) values (?)").run(v as string);
}

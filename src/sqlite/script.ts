import type { Binding, Driver, DriverStatement } from "./driver.ts";
import { isIncomplete } from "./errors.ts";
import { hasStatement, parametersOf, statementEnds } from "./scan.ts";

/**
 * The statements of a text, each compiled when the one before has run. Not by a driver's own way to run a script: one tells
 * no changes, and Deno's gives no error code and overlooks errors after a first row.
 */
export function* statementsOf(driver: Driver, sql: string): Generator<DriverStatement> {
  let start = 0;
  for (const end of [...statementEnds(sql), sql.length]) {
    const piece = sql.slice(start, end);
    if (!hasStatement(piece)) continue;
    let statement: DriverStatement;
    try {
      statement = driver.prepare(piece);
    } catch (error) {
      // A `;` inside a trigger is not the end.
      if (end < sql.length && isIncomplete(error)) continue;
      throw error;
    }
    yield statement;
    start = end;
  }
}

/** Runs a text without values. */
export function execute(driver: Driver, sql: string): void {
  for (const statement of statementsOf(driver, sql)) statement.run(unbound(statement));
}

/** NULL for every parameter, which is what SQLite takes for one that has no value. */
export function unbound(statement: DriverStatement): Binding[] {
  return parametersOf(statement.source).map((name) => ({ name, value: null }));
}

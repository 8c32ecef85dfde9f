import type { Driver, DriverStatement } from "./driver.ts";
import type { Changes } from "./types.ts";

/** Runs some work and tells what it changed. */
export type ChangeCounter = (work: () => void, safeIntegers: boolean) => Changes;

/**
 * Counts as bun:sqlite does, rows changed by triggers and by cascades included. Drivers count differently, and tell
 * nothing at all for a script, so SQLite itself is asked before and after.
 */
export function changeCounter(driver: Driver): ChangeCounter {
  let statement: DriverStatement | undefined;
  function read(): { total: bigint; rowid: bigint } {
    // Not before the first use: the first statement that a connection compiles needs a lock on the file.
    statement ??= compile(driver);
    return statement.get({ anonymous: [], named: null }) as { total: bigint; rowid: bigint };
  }
  return (work, safeIntegers) => {
    const before = read().total;
    work();
    const { total, rowid } = read();
    return { changes: Number(total - before), lastInsertRowid: safeIntegers ? rowid : Number(rowid) };
  };
}

function compile(driver: Driver): DriverStatement {
  const statement = driver.prepare("select total_changes() as total, last_insert_rowid() as rowid");
  statement.safeIntegers(true);
  return statement;
}

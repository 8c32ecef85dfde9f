import type { Driver, DriverStatement } from "./driver.ts";
import type { Changes } from "./values.ts";

/** Runs one statement after the other and tells what they changed. */
export type ChangeCounter = (steps: Iterable<() => void>, safeIntegers: boolean) => Changes;

interface Counts {
  readonly direct: bigint;
  readonly total: bigint;
  readonly rowid: bigint;
}

/** Counts as bun:sqlite does: the rows that the statements changed themselves, without those of triggers and cascades. */
export function changeCounter(driver: Driver): ChangeCounter {
  let statement: DriverStatement | undefined;
  function read(): Counts {
    // Not before the first use: the first statement that a connection compiles needs a lock on the file.
    statement ??= compile(driver);
    return statement.get([]) as Counts;
  }
  return (steps, safeIntegers) => {
    let before = read();
    let changes = 0n;
    for (const step of steps) {
      step();
      const after = read();
      // `changes()` still tells of an earlier statement when the last one was none that changes rows.
      if (after.total !== before.total) changes += after.direct;
      before = after;
    }
    return { changes: Number(changes), lastInsertRowid: safeIntegers ? before.rowid : Number(before.rowid) };
  };
}

function compile(driver: Driver): DriverStatement {
  const statement = driver.prepare(
    "select changes() as direct, total_changes() as total, last_insert_rowid() as rowid",
  );
  statement.safeIntegers(true);
  return statement;
}

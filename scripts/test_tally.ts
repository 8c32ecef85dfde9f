/** What the tally reads of the events that node's test runner emits. */
export interface TestEvent {
  name: string;
  nesting: number;
  file?: string | undefined;
  skip?: string | boolean | undefined;
  todo?: string | boolean | undefined;
  details?: { type?: string; error?: unknown };
}

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Counts tests, not suites, by the part of their top-level suite's name before " · ". */
export interface Tally {
  readonly groups: ReadonlyMap<string, Counts>;
  readonly total: Counts;
  started(event: TestEvent): void;
  passed(event: TestEvent): void;
  failed(event: TestEvent): void;
}

const SEPARATOR = " · ";
const OTHERS = "all";

export function createTally(): Tally {
  const groups = new Map<string, Counts>();
  const total = noCounts();
  // The names on the way to the running test, and how deep the last started one was.
  const path: string[] = [];
  let deepest = 0;

  function count(event: TestEvent, outcome: keyof Counts): void {
    const group = groupOf(path[0] ?? event.name);
    const counts = groups.get(group) ?? noCounts();
    groups.set(group, counts);
    counts[outcome]++;
    total[outcome]++;
  }

  // Parents start before their children and end after them.
  const hadChildren = (event: TestEvent) => deepest > event.nesting;

  return {
    groups,
    total,
    started(event) {
      path.length = event.nesting;
      path.push(event.name);
      deepest = event.nesting;
    },
    passed(event) {
      if (hadChildren(event)) return;
      if (event.skip !== undefined || event.todo !== undefined) count(event, "skipped");
      else if (isWholeFile(event)) count(event, "failed");
      else if (event.details?.type !== "suite") count(event, "passed");
    },
    failed(event) {
      if (event.todo !== undefined) count(event, "skipped");
      else if (failureType(event) !== "subtestsFailed") count(event, "failed");
    },
  };
}

/** The counts as a table, and below it the line that says it all. */
export function formatTally({ groups, total }: Tally): string {
  const rows = [...groups].sort(([a], [b]) => a.localeCompare(b));
  const width = Math.max(7, ...rows.map(([name]) => name.length));
  const row = (name: string, cells: unknown[]) => name.padEnd(width) + cells.map((cell) => String(cell).padStart(9)).join("");
  return [
    row("backend", ["passed", "failed", "skipped"]),
    ...rows.map(([name, { passed, failed, skipped }]) => row(name, [passed, failed, skipped])),
    "",
    `${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`,
  ].join("\n");
}

/** The backends of which no test really ran. */
export function missingBackends(tally: Tally, expected: readonly string[]): string[] {
  return expected.filter((name) => {
    const counts = tally.groups.get(name);
    return counts === undefined || counts.passed + counts.failed === 0;
  });
}

function noCounts(): Counts {
  return { passed: 0, failed: 0, skipped: 0 };
}

function groupOf(topLevelName: string): string {
  const end = topLevelName.indexOf(SEPARATOR);
  return end === -1 ? OTHERS : topLevelName.slice(0, end);
}

/** A file that reports no test is reported by its own name: it is empty, or something ended it early. */
function isWholeFile(event: TestEvent): boolean {
  return event.nesting === 0 && event.name === event.file;
}

function failureType(event: TestEvent): unknown {
  const error = event.details?.error;
  return typeof error === "object" && error !== null && "failureType" in error ? error.failureType : undefined;
}

// Did every attempt succeed, and exactly once?
import type { Row } from "./database.ts";
import type { Entry } from "./journal.ts";
import { list, nameAttempts, workerNames } from "./names.ts";
import { type Evidence, type Finding, type Line, line, of } from "./evidence.ts";
import { POISON_ROLE } from "./roles.ts";

type Completed = Extract<Entry, { type: "completed" }>;

const SHOWN_FAULTS = 5;

export async function checkTable({ select, prefix, attempts }: Evidence): Promise<Finding> {
  const sql = `select a.role, a.status, w.status as workflow, count(*) as attempts
from ${prefix}workflow_attempts as a
  join ${prefix}workflows as w on w.workflow_id = a.workflow_id
group by a.role, a.status, w.status order by a.role, a.status`;
  const rows = await select(sql);
  const work = rows.filter(({ role }) => role !== POISON_ROLE);
  const succeeded = sum(work.filter(({ status, workflow }) => status === "succeeded" && workflow === "SUCCEEDED"));
  const others = sum(work) - succeeded;
  return {
    title: "Every attempt succeeded",
    query: { sql, rows, show: true },
    lines: [
      line(
        succeeded === attempts && others === 0,
        `by the table, all ${number(attempts)} attempts and their workflows succeeded`,
        `by the table, ${number(succeeded)} of ${number(attempts)} attempts and their workflows succeeded, and ${number(others)} did not`,
      ),
    ],
  };
}

export async function checkCompletions({ select, prefix, journals, attempts }: Evidence): Promise<Finding> {
  const sql = `select attempt_id, locked_by_instance, fencing_token
from ${prefix}workflow_attempts where status = 'succeeded'`;
  const rows = await select(sql);
  const completions = of(journals, "completed");
  return {
    title: "And exactly once",
    query: { sql, rows, show: false },
    lines: [
      countCompletions(completions, attempts),
      ...repeated(completions, workerNames(journals)),
      compare(rows, completions),
    ],
  };
}

function countCompletions(completions: Completed[], attempts: number): Line {
  const different = new Set(completions.map(({ attempt }) => attempt.attemptId)).size;
  const text = `by the workers' journals, ${number(completions.length)} completions of ${number(different)} different attempts`;
  return line(completions.length === attempts && different === attempts, text, `${text} instead of ${number(attempts)}`);
}

function repeated(completions: Completed[], name: (instanceId: unknown) => string): Line[] {
  const workers = new Map<string, string[]>();
  for (const { attempt, instanceId } of completions) {
    workers.set(attempt.attemptId, [...workers.get(attempt.attemptId) ?? [], name(instanceId)]);
  }
  const twice = [...workers].filter(([, by]) => by.length > 1);
  return twice.slice(0, SHOWN_FAULTS).map(([id, by]) => ({
    ok: false,
    text: `attempt ${id} was completed ${by.length} times, by ${list(by)}`,
  }));
}

// Owner and token as well: the one who says that it completed an attempt is the one whom the table knows.
function compare(rows: Row[], completions: Completed[]): Line {
  const identity = (id: unknown, instance: unknown, token: unknown) => `${id} ${instance} ${token}`;
  const table = new Map(rows.map((row) => [identity(row.attempt_id, row.locked_by_instance, row.fencing_token), String(row.attempt_id)]));
  const journal = new Map(completions.map(({ attempt, instanceId }) =>
    [identity(attempt.attemptId, instanceId, attempt.fencingToken), attempt.attemptId]
  ));
  const different = [...[...table].filter(([key]) => !journal.has(key)), ...[...journal].filter(([key]) => !table.has(key))];
  const ids = [...new Set(different.map(([, id]) => id))];
  return line(
    ids.length === 0 && rows.length > 0,
    "table and journals name the same worker and fencing token for every one of them",
    ids.length === 0
      ? "the table knows of no success at all"
      : `table and journals differ about ${nameAttempts(ids.slice(0, SHOWN_FAULTS))}${ids.length > SHOWN_FAULTS ? ` and ${ids.length - SHOWN_FAULTS} more` : ""}`,
  );
}

function sum(rows: Row[]): number {
  return rows.reduce((total, { attempts }) => total + Number(attempts), 0);
}

function number(value: number): string {
  return value.toLocaleString("en");
}

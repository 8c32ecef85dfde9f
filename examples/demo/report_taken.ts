// What was taken back from whom, and what became of it?
import type { Row } from "./database.ts";
import { type Evidence, type Finding, type Line, line, of } from "./evidence.ts";
import type { Entry, Held } from "./journal.ts";
import { list, nameAttempts, workerNames } from "./names.ts";
import { MAX_PICKUPS, POISON_ROLE } from "./roles.ts";

/** A worker to which something was done while it held attempts. */
interface Owner {
  worker: string;
  instanceId: string;
  attempts: Held[];
}

export async function checkTakenBack({ select, prefix, journals }: Evidence): Promise<Finding> {
  const sql = `select attempt_id, role, status, pickup_count, fencing_token, locked_by_instance
from ${prefix}workflow_attempts where pickup_count > 0 order by attempt_id`;
  const rows = await select(sql);
  const [killed] = of(journals, "killed");
  return {
    title: "Nothing is lost: what was taken back, and from whom",
    query: { sql, rows, show: true },
    lines: [
      ...tellOwners(journals),
      comparePickups(rows, journals),
      killed ? checkSuccession(rows, journals, killed, "was killed") : { ok: false, text: "no worker was killed in mid-work" },
    ],
  };
}

export async function checkZombie({ select, prefix, journals }: Evidence): Promise<Finding> {
  const title = "A worker that wakes too late changes nothing";
  const [stopped] = of(journals, "stopped");
  if (stopped === undefined) return { title, lines: [{ ok: false, text: "no worker was stopped in mid-work" }] };
  const sql = `select attempt_id, status, fencing_token, locked_by_instance
from ${prefix}workflow_attempts where attempt_id in (${stopped.attempts.map(({ attemptId }) => attemptId).join(", ")}) order by attempt_id`;
  const rows = await select(sql);
  return {
    title,
    query: { sql, rows, show: true },
    lines: [checkSuccession(rows, journals, stopped, "slept past its lease"), checkRefusal(rows, journals, stopped)],
  };
}

export async function checkPoison({ select, prefix, journals }: Evidence): Promise<Finding> {
  const sql = `select a.attempt_id, a.role, a.status, a.outcome, a.pickup_count, w.status as workflow
from ${prefix}workflow_attempts as a
  join ${prefix}workflows as w on w.workflow_id = a.workflow_id
where a.role = '${POISON_ROLE}'`;
  const rows = await select(sql);
  const [row] = rows;
  const stuck = rows.length === 1 && row?.workflow === "STUCK" && row.status === "failed" && Number(row.pickup_count) === MAX_PICKUPS;
  const owners = takenBack(journals).filter(({ attemptId }) => attemptId === String(row?.attempt_id)).map(({ from }) => from);
  const dead = of(journals, "died").filter(({ instanceId, signal }) => signal === "SIGKILL" && owners.includes(instanceId));
  const victims = [...new Set(dead.map(({ worker }) => worker))];
  const state = row ? `${row.workflow} after ${row.pickup_count}` : "not in the table";
  return {
    title: "Poison does not go round for ever",
    query: { sql, rows, show: true },
    lines: [
      line(
        stuck,
        `the poison attempt is STUCK after ${MAX_PICKUPS} pickups`,
        `the poison attempt is not STUCK after ${MAX_PICKUPS} pickups but ${state}`,
      ),
      line(
        victims.length === MAX_PICKUPS && owners.length === MAX_PICKUPS,
        `${victims.length} workers died of it: ${list(victims)}`,
        `not ${MAX_PICKUPS} workers died of it but ${victims.length}`,
      ),
    ],
  };
}

// One line for all owners that lost the same attempts.
function tellOwners(journals: readonly Entry[]): Line[] {
  const owners = new Map<string, string[]>();
  for (const { instanceId, attempts } of of(journals, "reaped")) {
    const attempt = nameAttempts(attempts.map(({ attemptId }) => attemptId));
    owners.set(attempt, [...owners.get(attempt) ?? [], workerNames(journals)(instanceId)]);
  }
  if (owners.size === 0) return [{ ok: false, text: "the reaper took nothing back" }];
  return [...owners].map(([attempt, from]) => ({ ok: true, text: `the reaper took ${attempt} back from ${list(from)}` }));
}

function comparePickups(rows: readonly Row[], journals: readonly Entry[]): Line {
  const taken = takenBack(journals).map(({ attemptId }) => attemptId);
  const counts = new Map(rows.map((row) => [String(row.attempt_id), Number(row.pickup_count)]));
  const different = [...new Set([...counts.keys(), ...taken])].filter((id) =>
    (counts.get(id) ?? 0) !== taken.filter((each) => each === id).length
  );
  return line(
    different.length === 0,
    "the table counts the same pickups as the reaper's journal",
    `table and reaper's journal count different pickups of ${nameAttempts(different)}`,
  );
}

// All that one worker held was taken back from it and finished by others.
function checkSuccession(rows: readonly Row[], journals: readonly Entry[], { worker, instanceId, attempts }: Owner, what: string): Line {
  const taken = takenBack(journals).filter(({ from }) => from === instanceId).map(({ attemptId }) => attemptId);
  const finishers = attempts.map(({ attemptId }) => {
    const row = rows.find(({ attempt_id, status }) => String(attempt_id) === attemptId && status === "succeeded");
    return taken.includes(attemptId) && row?.locked_by_instance !== instanceId ? row?.locked_by_instance : undefined;
  });
  const left = attempts.filter((_, place) => !finishers[place]).map(({ attemptId }) => attemptId);
  const story = `${worker} ${what} with ${nameAttempts(attempts.map(({ attemptId }) => attemptId))} in its hands`;
  return line(
    left.length === 0 && attempts.length > 0,
    `${story}; finished by ${list(finishers.map(workerNames(journals)))}`,
    `${story}; not taken back and finished by others: ${nameAttempts(left)}`,
  );
}

function checkRefusal(rows: readonly Row[], journals: readonly Entry[], { worker, instanceId, attempts: [lease] }: Owner): Line {
  const refused = of(journals, "refused").find(({ attempt, ...entry }) =>
    entry.instanceId === instanceId && attempt.attemptId === lease?.attemptId && attempt.fencingToken === lease.fencingToken
  );
  const row = rows.find(({ attempt_id }) => String(attempt_id) === lease?.attemptId);
  const unharmed = row?.locked_by_instance !== instanceId && Number(row?.fencing_token) > Number(lease?.fencingToken);
  return line(
    refused?.error === "LeaseLostError" && unharmed,
    `${worker} woke and tried to complete attempt ${lease?.attemptId} with fencing token ${lease?.fencingToken}: refused (${refused?.error})`,
    `${worker}'s late completion of attempt ${lease?.attemptId} with fencing token ${lease?.fencingToken} was not refused`,
  );
}

function takenBack(journals: readonly Entry[]): { attemptId: string; from: string }[] {
  return of(journals, "reaped").flatMap(({ instanceId, attempts }) => attempts.map(({ attemptId }) => ({ attemptId, from: instanceId })));
}

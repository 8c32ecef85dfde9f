import type { Findings } from "./findings.ts";
import type { End, Ledger } from "./ledger.ts";
import { type Query, WRONG_WORKFLOWS } from "./table.ts";
import type { Payload } from "./work.ts";

const MEMBERS_AT_ONCE = 500;

/** Every workflow has the status that its attempts make. */
export async function checkWorkflows(ledger: Ledger, query: Query, found: Findings): Promise<void> {
  found.checked("workflows");
  const wrong = await query(WRONG_WORKFLOWS);
  const reopened = wrong.filter((row) => Number(row["reopened"]) === 1).map((row) => Number(row["workflow_id"]));
  for (const row of wrong) if (Number(row["reopened"]) !== 1) found.violation("workflows", JSON.stringify(row));
  const members = await membersOf(reopened, query);
  const joins = joinsOf(ledger, new Set(reopened));
  for (const id of reopened) {
    const ends = (members.get(id) ?? []).flatMap(({ attempt, follows }) => (ledger.leases.get(attempt) ?? []).flatMap((lease) => lease.ends.map((end) => ({ ...end, follows }))));
    const failed = Math.max(...ends.filter(({ how, outcome }) => how === "fail" && mayHaveHappened(outcome)).map(({ from }) => from));
    // New work opens it again: what is enqueued to it, and what follows a completion. A retry is the same work.
    const followed = ends.filter(({ how, outcome, follows }) => how === "complete" && follows && mayHaveHappened(outcome)).map(({ to }) => to);
    const joined = Math.max(joins.get(id) ?? -Infinity, ...followed);
    if (joined === -Infinity || joined < failed) found.violation("workflows", `workflow ${id} succeeded after an attempt had failed for good, and nothing joined it after that`);
  }
}

interface Member {
  attempt: number;
  /** Its completion adds a follow-up. */
  follows: boolean;
}

async function membersOf(workflows: readonly number[], query: Query): Promise<Map<number, Member[]>> {
  const members = new Map<number, Member[]>();
  for (let place = 0; place < workflows.length; place += MEMBERS_AT_ONCE) {
    const ids = workflows.slice(place, place + MEMBERS_AT_ONCE).join(", ");
    for (const row of await query(`select attempt_id, workflow_id, cast(payload as text) as payload from workflow_attempts where workflow_id in (${ids})`)) {
      const id = Number(row["workflow_id"]);
      const follows = (JSON.parse(String(row["payload"])) as Payload).kind === "follow";
      members.set(id, [...members.get(id) ?? [], { attempt: Number(row["attempt_id"]), follows }]);
    }
  }
  return members;
}

// When something was enqueued to them at the latest.
function joinsOf(ledger: Ledger, workflows: ReadonlySet<number>): Map<number, number> {
  const joins = new Map<number, number>();
  for (const { workflowId, to, outcome } of ledger.enqueues) {
    if (workflowId === undefined || !workflows.has(workflowId) || !mayHaveHappened(outcome)) continue;
    joins.set(workflowId, Math.max(joins.get(workflowId) ?? -Infinity, to));
  }
  return joins;
}

function mayHaveHappened(outcome: End["outcome"]): boolean {
  return outcome === "done" || outcome === "unknown";
}

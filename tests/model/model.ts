import { type Attempt, byAge, byId, isClosed, isOpen, Refused, steps, withAges } from "./state.ts";
import { EXHAUSTED, type FailOptions, INTERNAL_ERROR, type Lease, OLDER_PROGRAM, type Outcome, type Subject, type Work } from "./subject.ts";
import { lastSignOfLife, Tables } from "./tables.ts";

/** The contract once more, as plainly as it can be said: everything in memory, one thing after another. */
export class Model extends Tables implements Subject {
  /** What others hold at the moment, so that a reaper passes it by. */
  passBy: ReadonlySet<string> = new Set();

  copy(): Model {
    const copy = new Model();
    for (const [id, workflow] of this.workflows) copy.workflows.set(id, { ...workflow });
    for (const [id, attempt] of this.attempts) copy.attempts.set(id, { ...attempt });
    copy.clock = this.clock;
    copy.nextWorkflow = this.nextWorkflow;
    copy.nextAttempt = this.nextAttempt;
    return copy;
  }

  /** The ids of all workflows and attempts. */
  ids(): string[] {
    return [...this.workflows.keys(), ...this.attempts.keys()];
  }

  /** The attempts that a reaper may take. */
  reapable(): string[] {
    const attempts = [...this.attempts.values()].filter((attempt) => isOpen(attempt) && (attempt.status !== "pending" || attempt.pickupCount > 0));
    return attempts.map(({ id }) => id);
  }

  enqueue(list: readonly Work[]): Outcome {
    for (const { workflowId } of list) {
      if (workflowId !== undefined && isClosed(this.known(workflowId))) throw new Refused("workflow_closed");
    }
    return list.map((work) => {
      const holder = this.holder(work.key);
      if (holder) return { workflowId: holder.workflowId, attemptId: holder.id, created: false };
      const workflow = work.workflowId === undefined ? this.newWorkflow(String(this.nextWorkflow++)) : this.known(work.workflowId);
      this.change(workflow, "ACTIVE");
      return { workflowId: workflow.id, attemptId: this.newAttempt(workflow.id, work).id, created: true };
    });
  }

  dequeueMany(roles: readonly string[], limit: number, owner: string, maxPickups: number): Outcome[] {
    const eligible = this.pending(roles).filter(({ pickupCount }) => pickupCount < maxPickups);
    return eligible.slice(0, limit).map((attempt) => {
      this.start(attempt, owner);
      const { id: attemptId, workflowId, role, tier, priority, attemptNumber, pickupCount, key, payload } = attempt;
      const claim = { attemptId, workflowId, role, tier, priority, attemptNumber, pickupCount, key, payload };
      return { acquired: true, ...claim, instanceId: owner, fencingToken: String(++attempt.token) };
    });
  }

  dequeue(roles: readonly string[], owner: string, maxPickups: number): Outcome {
    if (roles.length === 0) return { acquired: false, reason: "no_roles_configured" };
    const reason = this.pending(roles).length > 0 ? "pickup_limit_exceeded" : "no_pending_eligible";
    return this.dequeueMany(roles, 1, owner, maxPickups)[0] ?? { acquired: false, reason };
  }

  heartbeat(leases: readonly Lease[]): Outcome {
    return leases.map((lease) => {
      const attempt = this.held(lease);
      if (attempt) attempt.heartbeatAt = this.clock;
      return { held: attempt !== undefined };
    });
  }

  complete(lease: Lease, outcome: string | null, result: unknown, next: readonly Work[]): void {
    const { workflowId } = this.end(lease, "succeeded", { outcome, result, error: null });
    const followed = next.filter((work) => !this.holder(work.key) && this.newAttempt(workflowId, work));
    const workflow = this.workflows.get(workflowId);
    if (!workflow) return;
    const settled = workflow.status === "ACTIVE" && !this.of(workflowId).some(isOpen) ? "SUCCEEDED" : workflow.status;
    this.change(workflow, followed.length > 0 && !isClosed(workflow) ? "ACTIVE" : settled);
  }

  fail(lease: Lease, { retry, ...how }: FailOptions): void {
    const { workflowId, attemptNumber, ...work } = this.end(lease, "failed", how);
    const workflow = this.workflows.get(workflowId);
    if (retry) {
      this.newAttempt(workflowId, { ...work, ...retry }).attemptNumber = attemptNumber + 1;
    } else if (how.outcome !== INTERNAL_ERROR && workflow && ["ACTIVE", "SUCCEEDED"].includes(workflow.status)) {
      this.change(workflow, "FAILED");
    }
  }

  release(lease: Lease): void {
    const attempt = this.held(lease);
    if (!attempt) throw new Refused("lease_lost");
    this.backToQueue(attempt);
  }

  reap(staleAfterMs: number, maxPickups: number, limit?: number): Outcome {
    const attempts = [...this.attempts.values()].filter(({ id }) => !this.passBy.has(id));
    const lost = attempts.filter((attempt) => this.isLost(attempt, staleAfterMs, maxPickups)).slice(0, limit);
    const due = attempts.filter(({ status, runAt }) => status === "scheduled" && Number(runAt) <= this.clock);
    for (const attempt of due.slice(0, limit)) attempt.status = "pending";
    const reaped = { requeued: [] as Outcome[], stuck: [] as Outcome[] };
    for (const attempt of lost) {
      if (attempt.status !== "pending") attempt.pickupCount++;
      const { id: attemptId, workflowId, role, pickupCount, owner: previousInstanceId } = attempt;
      const isStuck = pickupCount >= maxPickups;
      reaped[isStuck ? "stuck" : "requeued"].push({ attemptId, workflowId, role, pickupCount, previousInstanceId });
      if (isStuck) this.giveUp(attempt);
      else this.backToQueue(attempt);
    }
    return reaped;
  }

  retry(workflowId: string): void {
    const workflow = this.known(workflowId);
    const exhausted = this.of(workflowId).filter(({ status, outcome }) => status === "failed" && outcome === EXHAUSTED);
    const keys = exhausted.flatMap(({ key }) => key ?? []);
    const taken = keys.some((key) => this.holder(key)) || new Set(keys).size < keys.length;
    if (workflow.status !== "STUCK" || taken) throw new Refused("wrong_state");
    for (const attempt of exhausted) {
      attempt.pickupCount = 0;
      this.backToQueue(attempt);
    }
    this.change(workflow, "ACTIVE");
    workflow.stuckReason = null;
  }

  cancel(workflowId: string): void {
    const workflow = this.known(workflowId);
    const open = this.of(workflowId).filter(isOpen);
    const allowed = ["ACTIVE", "STUCK"].includes(workflow.status) || workflow.status === "FAILED" && open.length > 0;
    if (!allowed) throw new Refused("wrong_state");
    for (const attempt of open) Object.assign(attempt, { status: "cancelled", token: attempt.token + 1, finishedAt: this.clock });
    this.change(workflow, "CANCELLED");
  }

  prune(olderThanMs: number): Outcome {
    const old = [...this.workflows.values()].filter(({ id, status, updatedAt }) =>
      ["SUCCEEDED", "FAILED", "CANCELLED"].includes(status) && this.clock - updatedAt >= olderThanMs &&
      !this.of(id).some((attempt) => ["pending", "scheduled", "in_progress"].includes(attempt.status))
    );
    const attempts = old.flatMap(({ id }) => this.of(id));
    for (const { id } of old) this.workflows.delete(id);
    for (const { id } of attempts) this.attempts.delete(id);
    return { workflows: old.length, attempts: attempts.length };
  }

  stats(): Outcome {
    const all = [...this.attempts.values()];
    const roles = [...new Set(all.map(({ role }) => role))].sort().map((role) => {
      const those = (status: Attempt["status"]) => all.filter((attempt) => attempt.role === role && attempt.status === status);
      const oldest = (times: number[]) => times.length > 0 ? steps(this.clock - Math.min(...times)) : null;
      return {
        role,
        pending: those("pending").length,
        scheduled: those("scheduled").length,
        inProgress: those("in_progress").length,
        succeeded: those("succeeded").length,
        failed: those("failed").length,
        oldestPendingMs: oldest(those("pending").map(({ createdAt }) => createdAt)),
        oldestHeartbeatMs: oldest(those("in_progress").map(lastSignOfLife)),
      };
    });
    return { roles, stuck: [...this.workflows.values()].filter(({ status }) => status === "STUCK").length };
  }

  olderInsert(workflowId: string, role: string, createdAgoMs: number): void {
    this.newAttempt(workflowId, { role }).createdAt -= createdAgoMs;
  }

  olderClaim(role: string): void {
    const [oldest] = this.pending([role]).sort(byAge);
    if (oldest) this.start(oldest, OLDER_PROGRAM);
  }

  advance(ms: number): void {
    this.clock += ms;
  }

  dump(): Outcome {
    return [this.workflows, this.attempts].map((table) => [...table.values()].sort(byId).map((row) => withAges(row, this.clock)));
  }
}

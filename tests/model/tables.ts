import { type Attempt, inQueueOrder, isClosed, isOpen, Refused, type Workflow } from "./state.ts";
import { EXHAUSTED, FIRST_ATTEMPT, FIRST_WORKFLOW, INTERNAL_ERROR, type Lease, type Work } from "./subject.ts";

/** The two tables, and the few things that happen to their rows. */
export class Tables {
  protected readonly workflows: Map<string, Workflow> = new Map();
  protected readonly attempts: Map<string, Attempt> = new Map();
  protected clock = 0;
  protected nextWorkflow: number = FIRST_WORKFLOW;
  protected nextAttempt: number = FIRST_ATTEMPT;

  protected known(workflowId: string): Workflow {
    const workflow = this.workflows.get(workflowId);
    if (!workflow) throw new Refused("not_found");
    return workflow;
  }

  protected newWorkflow(id: string): Workflow {
    const workflow: Workflow = { id, status: "ACTIVE", stuckReason: null, createdAt: this.clock, updatedAt: this.clock };
    this.workflows.set(id, workflow);
    return workflow;
  }

  protected change(workflow: Workflow, status: Workflow["status"]): void {
    Object.assign(workflow, { status, updatedAt: this.clock });
  }

  protected newAttempt(workflowId: string, { role, tier, priority, payload, key, delayMs, runInMs }: Nullable<Work>): Attempt {
    const delay = delayMs ?? runInMs ?? null;
    const attempt: Attempt = {
      id: String(this.nextAttempt++), workflowId, role, tier: tier ?? null, priority: priority ?? 0,
      status: delay === null ? "pending" : "scheduled", outcome: null, payload: payload ?? null, result: null, error: null,
      key: key ?? null, attemptNumber: 1, pickupCount: 0, token: 0, owner: null, lockedAt: null, heartbeatAt: null,
      startedAt: null, finishedAt: null, runAt: delay === null ? null : this.clock + delay, createdAt: this.clock,
    };
    this.attempts.set(attempt.id, attempt);
    return attempt;
  }

  protected of(workflowId: string): Attempt[] {
    return [...this.attempts.values()].filter((attempt) => attempt.workflowId === workflowId);
  }

  protected holder(key: string | null | undefined): Attempt | undefined {
    return key ? [...this.attempts.values()].find((attempt) => attempt.key === key && isOpen(attempt)) : undefined;
  }

  protected pending(roles: readonly string[]): Attempt[] {
    return [...this.attempts.values()].filter(({ status, role }) => status === "pending" && roles.includes(role)).sort(inQueueOrder);
  }

  protected held({ attemptId, instanceId, fencingToken }: Lease): Attempt | undefined {
    const attempt = this.attempts.get(attemptId);
    const held = attempt?.status === "in_progress" && attempt.owner === instanceId && String(attempt.token) === fencingToken;
    return held ? attempt : undefined;
  }

  protected start(attempt: Attempt, owner: string): void {
    const now = this.clock;
    Object.assign(attempt, { status: "in_progress", owner, lockedAt: now, heartbeatAt: now, startedAt: now });
  }

  protected end(lease: Lease, status: Attempt["status"], how: Pick<Attempt, "outcome" | "result" | "error">): Attempt {
    const attempt = this.held(lease);
    if (!attempt) throw new Refused("lease_lost");
    return Object.assign(attempt, { ...how, status, finishedAt: this.clock });
  }

  protected isLost(attempt: Attempt, staleAfterMs: number, maxPickups: number): boolean {
    if (attempt.status === "in_progress") return this.clock - lastSignOfLife(attempt) > staleAfterMs;
    if (attempt.status === "pending") return attempt.pickupCount >= maxPickups;
    const workflow = this.workflows.get(attempt.workflowId);
    return attempt.status === "failed" && attempt.outcome === INTERNAL_ERROR && (workflow?.status ?? "ACTIVE") === "ACTIVE";
  }

  protected backToQueue(attempt: Attempt): void {
    const free = { owner: null, lockedAt: null, heartbeatAt: null, startedAt: null, finishedAt: null };
    Object.assign(attempt, { ...free, status: "pending", token: attempt.token + 1, outcome: null, result: null });
  }

  protected giveUp(attempt: Attempt): void {
    const end = { outcome: EXHAUSTED, result: null, finishedAt: this.clock };
    Object.assign(attempt, { ...end, status: "failed", token: attempt.token + 1 });
    const workflow = this.workflows.get(attempt.workflowId) ?? this.newWorkflow(attempt.workflowId);
    if (isClosed(workflow)) return;
    this.change(workflow, "STUCK");
    workflow.stuckReason = EXHAUSTED;
  }
}

export function lastSignOfLife({ heartbeatAt, lockedAt, startedAt, createdAt }: Attempt): number {
  return heartbeatAt ?? lockedAt ?? startedAt ?? createdAt;
}

type Nullable<T> = { [K in keyof T]: K extends "role" ? T[K] : T[K] | null | undefined };

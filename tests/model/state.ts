import { INTERNAL_ERROR, STEP_MS } from "./subject.ts";

export interface Workflow {
  readonly id: string;
  status: "ACTIVE" | "SUCCEEDED" | "FAILED" | "STUCK" | "CANCELLED";
  stuckReason: string | null;
  createdAt: number;
  updatedAt: number;
}

export interface Attempt {
  readonly id: string;
  readonly workflowId: string;
  readonly role: string;
  readonly tier: number | null;
  readonly priority: number;
  status: "pending" | "scheduled" | "in_progress" | "succeeded" | "failed" | "cancelled";
  outcome: string | null;
  readonly payload: unknown;
  result: unknown;
  error: string | null;
  readonly key: string | null;
  attemptNumber: number;
  pickupCount: number;
  token: number;
  owner: string | null;
  lockedAt: number | null;
  heartbeatAt: number | null;
  startedAt: number | null;
  finishedAt: number | null;
  readonly runAt: number | null;
  createdAt: number;
}

/** What the contract refuses, by its code. */
export class Refused extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

export function isOpen({ status, outcome }: Attempt): boolean {
  return ["pending", "scheduled", "in_progress"].includes(status) || status === "failed" && outcome === INTERNAL_ERROR;
}

/** STUCK and CANCELLED stay until an operator acts. */
export function isClosed({ status }: Workflow): boolean {
  return status === "STUCK" || status === "CANCELLED";
}

export function inQueueOrder(a: Attempt, b: Attempt): number {
  return a.priority - b.priority || byAge(a, b);
}

export function byAge(a: Attempt, b: Attempt): number {
  return a.createdAt - b.createdAt || Number(a.id) - Number(b.id);
}

export function byId(a: { id: string }, b: { id: string }): number {
  return Number(a.id) - Number(b.id);
}

/** Steps of the clock in a span: of the odd milliseconds in it at most half a step are real. */
export function steps(ms: number): number {
  return Math.floor((ms + STEP_MS / 10) / STEP_MS);
}

/** The row with each time as its age in steps. */
export function withAges<T extends object>(row: T, clock: number): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, name.endsWith("At") && value !== null ? steps(clock - value) : value]));
}

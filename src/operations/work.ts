/**
 * Work to enqueue, as the queries take it.
 *
 * @module
 */

import * as check from "../arguments.ts";
import { encodeJson } from "../json.ts";
import type { NewWork } from "../types.ts";

/**
 * A list of work as one JSON text. Each item is refused before any SQL is run for any of them.
 *
 * @param joins Whether an item may name a workflow to join.
 * @throws {SkiplockedError} `invalid_argument`.
 */
export function encodeWork(action: string, list: readonly unknown[], joins: boolean): string {
  return `[${Array.from(list, (item) => encodeItem(action, item, joins)).join(",")}]`;
}

const FIELDS = ["role", "tier", "payload", "priority", "workflowId", "delayMs", "runAt", "key"];

function encodeItem(action: string, item: unknown, joins: boolean): string {
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    throw check.invalid(action, "work", 'an object with a "role"', item);
  }
  check.refuseUnknown(action, item, FIELDS);
  const { role, tier, payload, priority, workflowId, delayMs, runAt, key } = item as Partial<NewWork>;
  if (delayMs !== undefined && runAt !== undefined) throw check.invalid(action, "runAt", 'left out when "delayMs" is given', runAt);
  if (!joins && workflowId !== undefined) {
    throw check.invalid(action, "workflowId", "left out: what follows belongs to the same workflow", workflowId);
  }
  const fields = JSON.stringify({
    role: check.role(action, "role", role),
    tier: tier === undefined || tier === null ? undefined : check.integer(action, "tier", tier),
    priority: priority === undefined ? undefined : check.integer(action, "priority", priority),
    workflow_id: check.optionalId(action, "workflowId", workflowId) ?? undefined,
    delay_ms: delayMs === undefined ? undefined : check.milliseconds(action, "delayMs", delayMs),
    run_at: runAt === undefined ? undefined : check.instant(action, "runAt", runAt),
    key: key === undefined || key === null ? undefined : check.key(action, "key", key),
  });
  const json = encodeJson(action, "payload", payload);
  return json === null ? fields : `${fields.slice(0, -1)},"payload":${json}}`;
}

/** Whether any item has a key: then another transaction may be first with it. */
export function hasKeys(list: readonly unknown[]): boolean {
  return list.some((item) => typeof (item as Partial<NewWork>).key === "string");
}

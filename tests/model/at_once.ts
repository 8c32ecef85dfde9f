import assert from "node:assert/strict";
import type { Queue } from "../../mod.ts";
import { race } from "./arena.ts";
import { type Operation, outcomeOf, type World } from "./commands.ts";
import type { DatabaseSubject } from "./database.ts";
import type { Model } from "./model.ts";
import { FIRST_WORKFLOW, NEW, type Outcome } from "./subject.ts";

// Each subset of what a reaper may have passed by is a history of its own.
const MOST_PASSED_BY = 8;

/** Runs operations at the same moment, which must give what they give one after another in some order. */
export async function runAtOnce(world: World & { model: Model; database: DatabaseSubject }, queues: readonly Queue[], operations: readonly Operation[]): Promise<void> {
  const subjects = queues.map((queue) => world.database.through(queue));
  const results = await race(...operations.map((operation, place) => async () => await operation.on(subjects[place]!, world)));
  const outcomes = results.map(({ value, code }) => code === undefined ? value ?? {} : { refused: code });
  const got = anonymous(outcomes, await subjects[0]!.dump(), world.model.ids());

  const reaps = operations.some((operation) => operation.toString().startsWith("reap"));
  const tried: string[] = [];
  for (const passBy of subsets(reaps ? world.model.reapable().slice(0, MOST_PASSED_BY) : [])) {
    for (const order of permutations(operations.map((_, place) => place))) {
      const model = world.model.copy();
      model.passBy = passBy;
      const wanted: Outcome[] = [];
      for (const place of order) wanted[place] = await outcomeOf(() => operations[place]!.on(model, world));
      const history = anonymous(wanted, model.dump(), world.model.ids());
      if (history === got) return;
      tried.push(history);
    }
  }
  assert.equal(got, tried[0], "as in no order one after another");
}

// As text, without the ids that depend on the order, and without what a refusal to claim says of rows that others hold.
function anonymous(outcomes: Outcome[], tables: Outcome, known: readonly string[]): string {
  const hide = (name: string, value: unknown) => {
    if (["id", "attemptId", "workflowId"].includes(name) && !known.includes(String(value)) && Number(value) >= FIRST_WORKFLOW) return NEW;
    return name === "reason" ? undefined : value;
  };
  const rows = (tables as unknown[][]).map((table) => table.map((row) => JSON.stringify(sorted(row), hide)).sort());
  return [...outcomes.map((outcome) => JSON.stringify(outcome, hide)), ...rows.flat()].join("\n");
}

function sorted(row: unknown): unknown {
  return Object.fromEntries(Object.entries(row as object).sort(([a], [b]) => a < b ? -1 : 1));
}

function permutations<T>(list: readonly T[]): T[][] {
  if (list.length === 0) return [[]];
  return list.flatMap((first, place) => permutations(list.toSpliced(place, 1)).map((rest) => [first, ...rest]));
}

function subsets<T>([first, ...rest]: readonly T[]): Set<T>[] {
  if (first === undefined) return [new Set()];
  return subsets(rest).flatMap((some) => [some, new Set([first, ...some])]);
}

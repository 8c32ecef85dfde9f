// What every driver on every runtime answers to the same calls, beside what bun:sqlite itself answers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { CALLS } from "./support/sqlite_calls.ts";
import { DIFFERENCES } from "./support/sqlite_differences.ts";
import type { DriverName } from "./support/sqlite_drivers.ts";
import { runtimes } from "./support/runtimes.ts";
import { linesOf } from "./support/sqlite_runtimes.ts";

type Answers = Record<string, unknown>;

interface Shim {
  readonly runtime: string;
  readonly driver: DriverName;
  readonly answers: Answers;
}

interface Asked {
  readonly reference: Answers;
  readonly shims: readonly Shim[];
}

const MEMBERS = ["members of a database", "members of a statement", "members of a transaction", "members of an error"];

const bun = runtimes().find(({ kind }) => kind === "bun");
// Of a test and not of a hook: Bun gives hooks 5 seconds.
const patient = { timeout: 300_000 };

describe("the shim beside bun:sqlite", { skip: bun === undefined && "Bun is not installed" }, () => {
  let asking: Promise<Asked> | undefined;
  const asked = () => asking ??= askAll();

  for (const { name: runtime } of runtimes()) {
    it(`answers alike on ${runtime}, but for what is known`, patient, async () => {
      const { reference, shims: all } = await asked();
      const shims = all.filter((shim) => shim.runtime === runtime);
      assert.ok(shims.length > 0);
      for (const { driver, answers } of shims) {
        const known = new Set(DIFFERENCES.flatMap(({ calls, shownBy }) => shownBy(driver, runtime) ? calls : []));
        for (const [call] of CALLS) {
          const title = `${driver}: ${call}`;
          if (known.has(call)) assert.notDeepEqual(answers[call], reference[call], title);
          else assert.deepEqual(answers[call], reference[call], title);
        }
      }
    });
  }

  it("lacks the members that are said to be not there, and no others", patient, async () => {
    const { reference, shims } = await asked();
    const line = DIFFERENCES.map((difference) => difference.line).find((each) => each.startsWith("Not there"));
    const named = [...String(line).matchAll(/`(\w+)`/g)].map(([, name]) => String(name)).sort();
    for (const { driver, runtime, answers } of shims) {
      const missing = MEMBERS.flatMap((call) => {
        // What is in brackets is a symbol and nobody's to call, except that of `using`, which is there.
        return membersIn(reference, call).filter((name) => !membersIn(answers, call).includes(name) && !name.startsWith("["));
      });
      assert.deepEqual(missing.sort(), named, `${driver} on ${runtime}`);
    }
  });
});

describe("the list of differences in the documentation", () => {
  it("is the one that is tested", () => {
    const [doc = ""] = readFileSync(new URL("../src/sqlite.ts", import.meta.url), "utf8").split("*/");
    const text = doc.replaceAll(/\n \* {3}/g, " ");
    const items = [...text.matchAll(/^ \* - (.*)$/gm)].map(([, item]) => item);
    assert.deepEqual(items, DIFFERENCES.map(({ line }) => line));
  });
});

/** One after the other: they are more than there are processors. */
async function askAll(): Promise<Asked> {
  const shims: Shim[] = [];
  for (const runtime of runtimes()) {
    for (const line of await linesOf(runtime, "./sqlite_answers.ts")) shims.push({ runtime: runtime.name, ...line });
  }
  const real = shims.findIndex(({ driver }) => driver === "bun:sqlite");
  const [{ answers: reference } = { answers: {} }] = shims.splice(real, 1);
  assert.deepEqual(Object.keys(reference), CALLS.map(([name]) => name));
  return { reference, shims };
}

function membersIn(answers: Answers, call: string): string[] {
  return answers[call] as string[];
}

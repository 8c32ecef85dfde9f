import fc from "fast-check";
import type { Asked } from "./sqlite_queries.ts";

const SEED = 20261201;

const value = fc.oneof(
  fc.string({ unit: "binary" }).filter((text) => !text.includes("\0")),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double(),
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
  fc.uint8Array({ maxLength: 20 }),
  fc.boolean(),
  fc.constantFrom(null, undefined),
);

const parameter = fc.constantFrom("?", "?", "?1", "?2", "?4", ":a", "$b", "@c", ":d");
const key = fc.constantFrom("a", ":a", "$a", "b", "$b", "c", "@c", "d", ":d", "0", "1", "2", "?1", "?2", "other");

// Two names that differ in the prefix alone, and no values at all, are known differences: sqlite_queries.ts has them.
const args = fc.oneof(
  fc.array(value, { minLength: 1, maxLength: 5 }),
  fc.array(value, { minLength: 1, maxLength: 5 }).map((values) => [values]),
  fc.uniqueArray(fc.tuple(key, value), { selector: ([name]) => name, maxLength: 9 }).map((all) => [Object.fromEntries(all)]),
);

const echo = value.map((each): Asked => ["select ? as v, typeof(?1) as type", each]);
const anyParameters = fc.tuple(fc.array(parameter, { minLength: 1, maxLength: 5 }), args)
  .map(([parameters, given]): Asked => [`select ${parameters.map((each, i) => `${each} as c${i}`).join(", ")}`, ...given]);
const rightCount = fc.array(value, { minLength: 1, maxLength: 6 })
  .map((values): Asked => [`select ${values.map(() => "?").join(", ")}`, ...values]);

function sample(arbitrary: fc.Arbitrary<Asked>, numRuns: number, seed: number): Asked[] {
  return fc.sample(arbitrary, { numRuns, seed });
}

/** The same on every runtime, since the seed is. */
export const GENERATED: Asked[] = [
  ...sample(echo, 100, SEED),
  ...sample(anyParameters, 300, SEED + 1),
  ...sample(rightCount, 50, SEED + 2),
];

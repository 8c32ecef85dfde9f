// The table in CASES.md names tests that exist, for each of the cases.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";

const CASES = 44;
const rows = readFileSync(new URL("./CASES.md", import.meta.url), "utf8").split("\n").filter((line) => /^\| \d/.test(line));

describe("the table of cases", () => {
  test("has a row for each", () => {
    assert.deepEqual(rows.map((row) => Number(row.split("|")[1])), Array.from({ length: CASES }, (_, place) => place + 1));
  });

  for (const row of rows) {
    const [, number, kind, tests] = row.split("|");
    test(`names tests that exist:${number}${kind}`, () => {
      const named = [...String(tests).matchAll(/`([^`]+\.ts)` "(.+?)"(?=<br>| $)/g)];
      assert.ok(named.length > 0);
      for (const [, file, name] of named) assert.ok(isThere(String(file), String(name)), `${file}: ${name}`);
    });
  }
});

/** A test of that name, as it is written: with its `${…}`, and races by the name in their table. */
function isThere(file: string, name: string): boolean {
  const text = readFileSync(new URL(file, import.meta.url), "utf8");
  return [`test("${name}"`, `it("${name}"`, `test(\`${name}\``, `it(\`${name}\``, `"${name}": `].some((written) => text.includes(written));
}

// What the matrix counts, on the runners themselves: a cell that nobody ran must not look like one that passed.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { runCell } from "../scripts/matrix_cell.ts";
import { cover } from "../scripts/matrix_cover.ts";
import { rows as rowsOfMatrix } from "../scripts/matrix_rows.ts";
import { formatMatrix } from "../scripts/matrix_table.ts";
import { open } from "./support/connections/open.ts";
import { connections } from "./support/connections/table.ts";
import { runtimes } from "./support/runtimes.ts";
import { temporaryFolder } from "./support/temp.ts";

const folder = temporaryFolder("matrix");

function file(name: string, text: string): string {
  const path = join(folder, `${name}.test.mjs`);
  writeFileSync(path, `import { describe, test } from "node:test";\n${text}`);
  return path;
}

const MIXED = file("mixed", `
  describe("one", () => {
    test("a & <b>", () => {});
    test("fails", () => { throw new Error("on purpose"); });
    test("is skipped", { skip: true }, () => {});
  });
  describe("two", () => { describe("inner", () => { test("a > b", () => {}); test("c", () => {}); }); });`);
const GOOD = file("good", `describe("one", () => { test("a", () => {}); test("b", () => {}); });`);
const EARLY = file("early", `test("a", () => {}); process.exit(3);`);
const BROKEN = file("broken", `import "./nothing.mjs";`);
const EMPTY = file("empty", "");

describe("a cell of the matrix", () => {
  for (const runtime of runtimes()) {
    const count = async (path: string) => {
      const { passed, failed, skipped } = await runCell(runtime, [path], {});
      return { passed, failed, skipped };
    };

    test(`counts tests and not suites: ${runtime.name}`, async () => {
      assert.deepEqual(await count(MIXED), { passed: 3, failed: 1, skipped: 1 });
      assert.deepEqual(await count(GOOD), { passed: 2, failed: 0, skipped: 0 });
    });

    test(`fails with a file that cannot run, or ends early: ${runtime.name}`, async () => {
      for (const path of [BROKEN, EARLY]) assert.ok((await count(path)).failed > 0, path);
      assert.equal((await count(EMPTY)).passed, 0);
    });
  }
});

describe("the table of the matrix", () => {
  const columns = [{ name: "Node 20", version: "20.1.0" }, { name: "Bun", version: "1.4.5" }];
  const rows = [{ table: "Connections", name: "here" }, { table: "Options", name: "there" }];
  const cell = (passed: number, failed = 0, skipped = 0) => ({ passed, failed, skipped });
  const format = (cells: Record<string, ReturnType<typeof cell>>) =>
    formatMatrix(new Map(Object.entries(cells)), rows, columns, (row, column) => row === "here" || column === "Bun");
  const others = { "here|Node 20": cell(5), "here|Bun": cell(5) };

  test("is good when every cell that can exist passed", () => {
    const { text, isGood } = format({ ...others, "there|Bun": cell(6) });
    assert.equal(isGood, true);
    assert.match(text, /^Connections +Node 20\.1\.0 +Bun 1\.4\.5\nhere +5 +5\n\nOptions +Bun 1\.4\.5\nthere +6$/m);
    assert.match(text, /^Bun 1\.4\.5: 11 passed, 0 failed, 0 skipped$/m);
    assert.match(text, /\nAll: 16 passed, 0 failed, 0 skipped in 3 cells$/);
  });

  test("is not good with a cell that failed, was skipped, has no test or did not run", () => {
    for (const [bad, said] of [[cell(5, 1), "5 passed, 1 failed, 0 skipped"], [cell(5, 0, 2), "2 skipped"], [cell(0), "0 passed"]] as const) {
      const { text, isGood } = format({ ...others, "there|Bun": bad });
      assert.equal(isGood, false);
      assert.match(text, new RegExp(`^there · Bun: .*${said}`, "m"));
    }
    const { text, isGood } = format(others);
    assert.equal(isGood, false);
    assert.match(text, /^there · Bun: did not run$/m);
  });

  test("is not good with fewer tests in one cell of a row, unless that is meant", () => {
    const cells = new Map([["here|Node 20", cell(5)], ["here|Bun", cell(4)]]);
    const { text, isGood } = formatMatrix(cells, rows.slice(0, 1), columns, () => true);
    assert.equal(isGood, false);
    assert.match(text, /^here: not the same number of tests everywhere$/m);
    assert.equal(formatMatrix(cells, [{ table: "Connections", name: "here", differs: true }], columns, () => true).isGood, true);
  });

  test("has a row for everything that is opened, and opens everything in it", () => {
    assert.deepEqual(Object.keys(open).sort(), connections.map(({ name }) => name).sort());
    assert.equal(new Set(rowsOfMatrix.map(({ name }) => name)).size, rowsOfMatrix.length);
  });

  test("is covered by what CI runs of it: every row, every runtime, every connection under each kind of runtime", () => {
    const all = runtimes();
    const daily = new Set(connections.flatMap(({ name, daily }) => daily ? [name] : []));
    const chosen = cover(rowsOfMatrix, all, (row, runtime) => daily.has(row) && runtime === all[0]?.name);
    const kindsOf = (names: readonly string[]) => [...new Set(all.filter(({ name }) => names.includes(name)).map(({ kind }) => kind))].sort();
    for (const row of rowsOfMatrix) {
      const possible = all.map(({ name }) => name).filter((name) => row.runsOn(name));
      const own = chosen.get(row.name) ?? [];
      assert.ok(own.every((name) => possible.includes(name)), `${row.name}: ${own}`);
      if (possible.length > 0) assert.ok(own.length > 0, row.name);
      if (row.table === "Connections") assert.deepEqual(kindsOf(own), kindsOf(possible), row.name);
    }
    assert.deepEqual([...new Set([...chosen.values()].flat())].sort(), all.map(({ name }) => name).sort());
    const cells = [...chosen.values()].flat().length;
    assert.ok(cells <= 0.65 * rowsOfMatrix.flatMap((row) => all.filter(({ name }) => row.runsOn(name))).length, `${cells} cells`);
  });
});

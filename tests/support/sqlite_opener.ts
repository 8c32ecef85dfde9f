// Opens one new file a round, at the same moment as its siblings, and writes a row.
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { openSqlite } from "../../src/sqlite.ts";

const [folder = "", rounds = ""] = process.argv.slice(2);
for (let round = 0; round < Number(rounds); round++) {
  console.log(JSON.stringify({ type: "ready" }));
  waitFor(join(folder, `go-${round}`));
  const db = await openSqlite(join(folder, `${round}.db`));
  db.run(`create table if not exists t (pid); insert into t values (${process.pid})`);
  console.log(JSON.stringify({ type: "done", mode: db.query("pragma journal_mode").values().flat()[0] }));
  db.close();
}

// No timer here: the closer together the processes start, the harder the test.
function waitFor(file: string): void {
  const start = performance.now();
  while (!existsSync(file)) {
    if (performance.now() - start > 60_000) throw new Error(`${file} does not come`);
  }
}

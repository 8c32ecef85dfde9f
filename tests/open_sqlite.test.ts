import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openSqlite } from "../src/sqlite.ts";
import { loadBetterSqlite3 } from "../src/sqlite/better_sqlite3.ts";
import { networkFileSystemName, refuseNetworkFileSystem } from "../src/sqlite/file_system.ts";
import { spawnWorker } from "./support/processes.ts";
import { testStatements } from "./support/sqlite_statements.ts";
import { testTransactions } from "./support/sqlite_transactions.ts";
import { temporaryFolder } from "./support/temp.ts";

const folder = temporaryFolder("sqlite");
let files = 0;
const newFile = () => join(folder, `${files++}.db`);

describe("statements", () => testStatements((options) => openSqlite(":memory:", options)));
describe("transaction()", () => testTransactions(() => openSqlite(newFile())));

describe("openSqlite()", () => {
  const pragma = (db: { query(sql: string): { values(): unknown[][] } }, name: string) =>
    db.query(`pragma ${name}`).values()[0]?.[0];

  it("sets the connection up", async () => {
    const file = newFile();
    using db = await openSqlite(file);
    assert.equal(db.filename, file);
    assert.equal(pragma(db, "journal_mode"), "wal");
    assert.equal(pragma(db, "synchronous"), 2);
    assert.equal(pragma(db, "foreign_keys"), 1);
    assert.equal(pragma(db, "busy_timeout"), 5000);
    using other = await openSqlite(file, { synchronous: "NORMAL", busyTimeoutMs: 7 });
    assert.equal(pragma(other, "synchronous"), 1);
    assert.equal(pragma(other, "busy_timeout"), 7);
    using memory = await openSqlite(":memory:");
    assert.equal(pragma(memory, "journal_mode"), "memory");
  });

  it("obeys readonly and create", async () => {
    const file = newFile();
    await assert.rejects(openSqlite(file, { create: false }), { code: "SQLITE_CANTOPEN" });
    await assert.rejects(openSqlite(file, { readonly: true }), { code: "SQLITE_CANTOPEN" });
    await assert.rejects(openSqlite(join(folder, "none", "a.db")), { code: "SQLITE_CANTOPEN" });
    using db = await openSqlite(file);
    db.run("create table t (v)");
    using reader = await openSqlite(file, { readonly: true });
    assert.deepEqual(reader.query("select * from t").all(), []);
    assert.throws(() => reader.run("insert into t values (1)"), { code: "SQLITE_READONLY" });
  });

  it("passes on that a file is no database", async () => {
    const file = newFile();
    writeFileSync(file, "not a database, but long enough to have what would be a header ".repeat(20));
    await assert.rejects(openSqlite(file), { code: "SQLITE_NOTADB" });
  });

  it("refuses wrong arguments", async () => {
    const wrong: [path: unknown, options?: object][] = [
      [""],
      [" "],
      [undefined],
      [7],
      ["a\0b"],
      ["file:a.db"],
      [":memory:", { readonly: true }],
      [":memory:", { readOnly: true }],
      [":memory:", { create: 1 }],
      [":memory:", { synchronous: "OFF" }],
      ...[-1, 1.5, NaN, 2 ** 31, "5"].map((busyTimeoutMs): [string, object] => [":memory:", { busyTimeoutMs }]),
    ];
    for (const [path, options] of wrong) {
      await assert.rejects(openSqlite(path as string, options), { code: "invalid_argument" });
    }
  });

  it("treats an option that is undefined as left out", async () => {
    using db = await openSqlite(":memory:", { busyTimeoutMs: undefined } as object);
    assert.equal(pragma(db, "busy_timeout"), 5000);
  });

  it("says that better-sqlite3 is missing or does not load", async () => {
    const broken = "data:text/javascript,export default class { constructor() { throw new Error('dlopen') } }";
    for (const specifier of ["a-package-that-is-not-installed", broken]) {
      await assert.rejects(loadBetterSqlite3(specifier), (error: any) => {
        assert.equal(error.code, "driver_missing");
        assert.match(error.message, /npm install better-sqlite3/);
        return error.cause instanceof Error;
      });
    }
  });
});

describe("a network file system", () => {
  it("is known by its number", () => {
    assert.equal(networkFileSystemName(0x6969n), "NFS");
    assert.equal(networkFileSystemName(0xff534d42n), "CIFS");
    assert.equal(networkFileSystemName(BigInt(0xff534d42 | 0)), "CIFS");
    assert.equal(networkFileSystemName(0xef53n), undefined);
  });

  it("is refused with the option that overrides", async () => {
    const refusal = { code: "unsupported_filesystem", message: /NFS.*allowNetworkFileSystem/ };
    await assert.rejects(refuseNetworkFileSystem("/mnt/a.db", async () => 0x6969n), refusal);
    const onlyFolder = async (path: string) => path === "/mnt" ? 0x6969n : undefined;
    await assert.rejects(refuseNetworkFileSystem("/mnt/a.db", onlyFolder), refusal);
    await refuseNetworkFileSystem("/mnt/a.db", async () => undefined);
    await refuseNetworkFileSystem(join(folder, "a.db"));
  });
});

describe("close()", () => {
  it("is silent the second time", async () => {
    const db = await openSqlite(":memory:");
    const statement = db.query("select 1");
    db.close();
    db.close(true);
    assert.equal(db.inTransaction, false);
    assert.throws(() => statement.all());
    assert.throws(() => db.run("select 1"));
  });
});

describe("a locked file", () => {
  async function lockedFile() {
    const file = newFile();
    const holder = await openSqlite(file);
    holder.run("pragma journal_mode = delete; begin exclusive");
    return { file, holder };
  }

  it("is waited for without blocking the event loop", async () => {
    const { file, holder } = await lockedFile();
    setTimeout(() => holder.close(), 300);
    using db = await openSqlite(file);
    assert.equal(db.run("create table t (v)").changes, 0);
  });

  it("is given up after 5 seconds", async () => {
    const { file, holder } = await lockedFile();
    let longestPause = 0;
    let last = performance.now();
    const clock = setInterval(() => {
      longestPause = Math.max(longestPause, performance.now() - last);
      last = performance.now();
    }, 10);
    const start = last;
    await assert.rejects(openSqlite(file), (error: any) => error.code === "busy" && error.cause.code === "SQLITE_BUSY");
    clearInterval(clock);
    holder.close();
    const waited = performance.now() - start;
    assert.ok(waited > 4900 && waited < 7000, `waited ${waited} ms`);
    assert.ok(longestPause < 1000, `the event loop stood still for ${longestPause} ms`);
  });
});

describe("a file that does not exist yet", () => {
  it("is opened by 8 processes at once", { timeout: 120_000 }, async () => {
    const shared = temporaryFolder("sqlite-race");
    const rounds = 20;
    const opener = new URL("./support/sqlite_opener.ts", import.meta.url);
    const workers = Array.from({ length: 8 }, () => spawnWorker(opener, [shared, String(rounds)]));
    for (let round = 0; round < rounds; round++) {
      await Promise.all(workers.map((worker) => worker.nextEvent("ready")));
      writeFileSync(join(shared, `go-${round}`), "");
      for (const done of await Promise.all(workers.map((worker) => worker.nextEvent("done")))) {
        assert.equal(done.mode, "wal");
      }
      using db = await openSqlite(join(shared, `${round}.db`));
      const pids = db.query("select pid from t order by pid").values().flat();
      assert.deepEqual(pids, workers.map((worker) => worker.pid).sort((a, b) => a - b));
    }
    assert.deepEqual(workers.map((worker) => worker.stderr), workers.map(() => ""));
  });
});

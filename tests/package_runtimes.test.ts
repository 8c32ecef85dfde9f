// What npm would publish, installed and run on every runtime with no more than each user needs beside it.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { build } from "esbuild";
import postgres from "postgres";
import { betterSqlite3For, folderWith, installTarball, packTarball, repositoryPackage } from "./support/packed.ts";
import { DONE, OPEN, roundTrip, runFile, runIn } from "./support/round_trip.ts";
import { runtimes } from "./support/runtimes.ts";
import { temporaryFolder } from "./support/temp.ts";

const URL_OF_SERVER = process.env["DATABASE_URL"];
const NEEDS_POSTGRES = { skip: URL_OF_SERVER ? false : "no DATABASE_URL" };
const PGLITE = "@electric-sql/pglite";
const DUMP = `
  import { PGlite } from "${PGLITE}";
  import { writeFileSync } from "node:fs";
  const pglite = await PGlite.create();
  writeFileSync(process.argv[2], new Uint8Array(await (await pglite.dumpDataDir("none")).arrayBuffer()));
  await pglite.close();`;

describe("package on every runtime", { concurrency: 2 }, () => {
  let installed: string;
  let emptyPglite: string;
  const schemas: string[] = [];

  before(async () => {
    installed = installTarball(packTarball());
    emptyPglite = join(installed, "pglite.tar");
    await runIn(runtimes()[0]!, folderWith(installed, "pglite", { [PGLITE]: repositoryPackage(PGLITE) }), "dump.mjs", DUMP, [emptyPglite]);
  });
  after(async () => {
    if (URL_OF_SERVER === undefined) return;
    const sql = postgres(URL_OF_SERVER, { max: 1, onnotice() {} });
    for (const schema of schemas) await sql`drop schema if exists ${sql(schema)} cascade`;
    await sql.end();
  });

  /** A url and a schema that is dropped at the end, or a file. */
  function addressFor(dialect: "postgres" | "sqlite", folder: string): string[] {
    const unique = randomUUID().replaceAll("-", "");
    if (dialect === "sqlite") return [join(folder, `${unique}.db`)];
    schemas.push(`package_${unique}`);
    return [String(URL_OF_SERVER), `package_${unique}`];
  }

  for (const runtime of runtimes()) {
    for (const driver of ["postgres", "pg"] as const) {
      it(`${runtime.name}: a round trip with ${driver} alone`, NEEDS_POSTGRES, async () => {
        const folder = folderWith(installed, driver, { [driver]: repositoryPackage(driver) });
        const program = roundTrip(OPEN[driver]);
        assert.equal(await runIn(runtime, folder, "main.mjs", program, addressFor("postgres", folder)), DONE);
      });
    }

    it(`${runtime.name}: a round trip with PGlite alone`, async () => {
      const folder = folderWith(installed, "pglite");
      assert.equal(await runIn(runtime, folder, "main.mjs", roundTrip(OPEN[PGLITE]), [emptyPglite]), DONE);
    });

    for (const [driver, from] of [["libsql", repositoryPackage("libsql")], ["better-sqlite3", betterSqlite3For(runtime)]] as const) {
      it(`${runtime.name}: a round trip with ${driver} alone`, async () => {
        const folder = folderWith(installed, from === repositoryPackage(driver) ? driver : `newer ${driver}`, { [driver]: from });
        assert.equal(await runIn(runtime, folder, "main.mjs", roundTrip(OPEN[driver]), addressFor("sqlite", folder)), DONE);
      });
    }

    if (runtime.name === "Node 20") {
      it("Node 20: openSqlite with better-sqlite3, and without it says what is missing", async () => {
        const address = addressFor("sqlite", installed);
        const folder = folderWith(installed, "better-sqlite3", { "better-sqlite3": betterSqlite3For(runtime) });
        assert.equal(await runIn(runtime, folder, "open.mjs", roundTrip(OPEN.nothing), address), DONE);
        await assert.rejects(runIn(runtime, folderWith(installed, "nothing"), "main.mjs", roundTrip(OPEN.nothing), address), /driver_missing/);
      });
    } else {
      it(`${runtime.name}: a round trip with nothing but the runtime's own SQLite`, async () => {
        const folder = folderWith(installed, "nothing");
        assert.equal(await runIn(runtime, folder, "main.mjs", roundTrip(OPEN.nothing), addressFor("sqlite", folder)), DONE);
      });
    }

    it(`${runtime.name}: require loads it where no driver is`, async () => {
      const program = 'console.log(typeof require("skiplocked").createQueue, typeof require("skiplocked/sqlite").openSqlite);';
      assert.equal(await runIn(runtime, folderWith(installed, "nothing"), "main.cjs", program), "function function");
    });
  }

  /** One file in a folder of its own, and what it still imports. */
  async function bundle(name: string, packages: Record<string, string>, program: string, bare: string[]): Promise<string> {
    const folder = folderWith(installed, name, packages);
    writeFileSync(join(folder, "entry.mjs"), program);
    const outfile = join(temporaryFolder("bundle ü"), "bundled.mjs");
    const { metafile } = await build({
      absWorkingDir: folder, entryPoints: ["entry.mjs"], outfile, bundle: true, format: "esm", platform: "node", metafile: true, logLevel: "silent",
    });
    const left = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
    assert.deepEqual(left.filter((path) => !/^(node|bun):/.test(path) && !bare.includes(path)), []);
    assert.doesNotMatch(readFileSync(outfile, "utf8"), /(from|import\()\s*["']sqlite["']/);
    return outfile;
  }

  it("runs everywhere as one file, with postgres.js", NEEDS_POSTGRES, async () => {
    // The driver's own names of built-in modules; of ours there are none.
    const bare = ["crypto", "fs", "net", "os", "perf_hooks", "stream", "tls"];
    const file = await bundle("bundle", { postgres: repositoryPackage("postgres") }, roundTrip(OPEN.postgres), bare);
    for (const runtime of runtimes()) assert.equal(await runFile(runtime, file, addressFor("postgres", "")), DONE, runtime.name);
  });

  it("runs everywhere as one file, with the runtime's own SQLite", async () => {
    const file = await bundle("bundle alone", {}, roundTrip(OPEN.nothing), []);
    const able = runtimes().filter(({ name }) => name !== "Node 20"); // It has none.
    for (const runtime of able) assert.equal(await runFile(runtime, file, addressFor("sqlite", installed)), DONE, runtime.name);
  });

  it("takes handles of two copies of better-sqlite3", async () => {
    const original = repositoryPackage("better-sqlite3");
    const folder = folderWith(installed, "copies", { "better-sqlite3": original });
    for (const part of ["package.json", "lib", "build/Release/better_sqlite3.node"]) {
      cpSync(join(original, part), join(folder, "node_modules/second-copy", part), { recursive: true });
    }
    folderWith(installed, "copies", { bindings: repositoryPackage("bindings"), "file-uri-to-path": repositoryPackage("file-uri-to-path") });
    const program = roundTrip('import A from "better-sqlite3"; import Database from "second-copy"; if (A === Database) throw "the same";' +
      "const connection = new Database(address), close = () => connection.close();");
    assert.equal(await runIn(runtimes()[0]!, folder, "main.mjs", program, [":memory:"]), DONE);
  });

  it("minds no better-sqlite3 that was compiled for another Node", NEEDS_POSTGRES, async () => {
    const packages = { postgres: repositoryPackage("postgres"), "better-sqlite3": repositoryPackage("better-sqlite3") };
    const folder = folderWith(installed, "other abi", packages);
    for (const runtime of runtimes()) {
      assert.equal(await runIn(runtime, folder, "main.mjs", roundTrip(OPEN.postgres), addressFor("postgres", folder)), DONE, runtime.name);
    }
  });
});

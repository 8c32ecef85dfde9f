// What npm would publish: what is in it, what it asks for, and how it is found by its users.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import ts from "typescript";
import { folderWith, installTarball, packTarball, repositoryPackage } from "./support/packed.ts";
import { run, runIn } from "./support/round_trip.ts";
import { runtimes } from "./support/runtimes.ts";
import { TYPED } from "./support/typed_consumer.ts";
import { typeCheck, typescripts } from "./support/typescripts.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const TYPED_PACKAGES = ["@electric-sql/pglite", "@types/better-sqlite3", "@types/node", "@types/pg", "libsql", "postgres"];
const UNTYPED = `
  import { createQueue } from "skiplocked";
  import { openSqlite } from "skiplocked/sqlite";
  createQueue(await openSqlite(":memory:"));`;

describe("package", { concurrency: 2 }, () => {
  let tarball: string;
  let consumer: string;
  let packed: string[];
  const unpacked = (path: string) => join(consumer, "node_modules", "skiplocked", path);

  before(() => {
    tarball = packTarball();
    consumer = installTarball(tarball);
    packed = readdirSync(unpacked(""), { recursive: true, encoding: "utf8" }).map((path) => path.replaceAll("\\", "/"));
  });

  test("holds the bundle, the SQL, what explains them, and nothing else", () => {
    const prose = ["CHANGELOG.md", "LICENSE", "README.md"].filter((name) => existsSync(join(ROOT, name)));
    assert.deepEqual(new Set(readdirSync(unpacked(""))), new Set([...prose, "dist", "docs", "package.json", "sql"]));
    for (const entry of ["mod", "sqlite"]) assert.ok(packed.includes(`dist/${entry}.js`) && packed.includes(`dist/${entry}.d.ts`));
    assert.deepEqual(packed.filter((path) => /test|\.map$|\.tsx?$/.test(path) && !path.endsWith(".d.ts")), []);
    for (const path of sqlFiles()) assert.deepEqual(readFileSync(unpacked(join("sql", path))), readFileSync(join(ROOT, "sql", path)), path);
  });

  test("is small", (t) => {
    const core = readFileSync(unpacked("dist/mod.js"));
    t.diagnostic(`tarball ${statSync(tarball).size} bytes, dist/mod.js ${core.length}, by gzip ${gzipSync(core).length}`);
    assert.ok(statSync(tarball).size < 100_000);
    assert.ok(gzipSync(core).length < 35_000);
  });

  test("needs no other package", () => {
    const manifest = JSON.parse(readFileSync(unpacked("package.json"), "utf8"));
    assert.deepEqual([manifest.dependencies, manifest.optionalDependencies, manifest.bundleDependencies], [undefined, undefined, undefined]);
    for (const peer of Object.keys(manifest.peerDependencies)) assert.equal(manifest.peerDependenciesMeta[peer]?.optional, true, peer);
    for (const hook of ["preinstall", "install", "postinstall", "prepare"]) assert.equal(manifest.scripts?.[hook], undefined);
    assert.equal(manifest.sideEffects, false);
    assert.deepEqual(readdirSync(join(consumer, "node_modules")).filter((name) => !name.startsWith(".")), ["skiplocked"]);
  });

  /** What a file of the bundle imports, by itself and by its chunks; read as code, since the SQL says "from" as well. */
  function imports(file: string): string[] {
    const { importedFiles } = ts.preProcessFile(readFileSync(unpacked(file), "utf8"), true, true);
    return importedFiles.flatMap(({ fileName }) => fileName.startsWith("./") ? imports(join("dist", fileName)) : [fileName]);
  }

  test("the core imports nothing", () => {
    assert.deepEqual(imports("dist/mod.js"), []);
  });

  test("skiplocked/sqlite imports built-in modules, and says that they are", () => {
    const names = imports("dist/sqlite.js");
    assert.ok(names.length > 0);
    // Without the prefix a bundler may take a package of that name, "process" or "sqlite" for one.
    assert.deepEqual(names.filter((name) => !/^(node|bun):/.test(name)), []);
  });

  test("publint and attw have no complaint", async () => {
    assert.match(await run(process.execPath, [repositoryPackage("publint/src/cli.js"), "run", tarball, "--strict"]), /All good/);
    const attw = repositoryPackage("@arethetypeswrong/cli/dist/index.js");
    assert.match(await run(process.execPath, [attw, tarball, "--profile", "esm-only", "--no-emoji"]), /\(ESM\)/);
  });

  for (const runtime of runtimes()) {
    test(`${runtime.name} finds each file of the SQL by its name`, async () => {
      const names = sqlFiles().flatMap((path) => {
        const short = path.replace("/queries/", "/").replace(/\.sql$/, "");
        return [[path, path], ...(path.includes("/queries/") ? [[short, path]] : [])];
      });
      const program = `
        import { readFileSync } from "node:fs";
        for (const [name, path] of ${JSON.stringify(names)}) {
          const url = new URL(import.meta.resolve("skiplocked/sql/" + name));
          if (!url.pathname.endsWith("/skiplocked/sql/" + path)) throw new Error(name + " is " + url);
          if (!readFileSync(url, "utf8").includes("--")) throw new Error(name + " is empty");
        }
        console.log("found");`;
      assert.equal(await runIn(runtime, consumer, "names.mjs", program), "found");
    });
  }

  test("require finds the SQL and the manifest, and nothing that is not exported", async () => {
    const program = `
      const { readFileSync } = require("node:fs");
      console.log(readFileSync(require.resolve("skiplocked/sql/postgres/dequeue"), "utf8").includes("skip locked"));
      console.log(require("skiplocked/package.json").name);
      try { require("skiplocked/dist/mod.js") } catch (error) { console.log(error.code) }`;
    const [node] = runtimes();
    assert.equal(await runIn(node!, consumer, "names.cjs", program), "true\nskiplocked\nERR_PACKAGE_PATH_NOT_EXPORTED");
  });

  for (const typescript of typescripts()) {
    for (const [moduleResolution, module] of [["node16", "node16"], ["bundler", "esnext"]] as const) {
      test(`types hold with TypeScript ${typescript.version}, moduleResolution ${moduleResolution}`, async () => {
        const alone = folderWith(consumer, "alone");
        // By itself down to the last declaration; the drivers' own types are not ours to answer for.
        assert.equal(await typeCheck(typescript, alone, UNTYPED, { module, moduleResolution, skipLibCheck: false }), "");
        const typed = folderWith(consumer, "typed", Object.fromEntries(TYPED_PACKAGES.map((name) => [name, repositoryPackage(name)])));
        assert.equal(await typeCheck(typescript, typed, TYPED, { module, moduleResolution, skipLibCheck: true }), "");
      });
    }
  }
});

function sqlFiles(): string[] {
  return readdirSync(join(ROOT, "sql"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".sql")).map((path) => path.replaceAll("\\", "/"));
}

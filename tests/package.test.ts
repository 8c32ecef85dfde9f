// What npm would publish, used as its users do: from a folder of their own, without a network.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import process from "node:process";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { temporaryFolder } from "./support/temp.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const NOT_PACKED = [".git", "dist", "node_modules"];

const ROUND_TRIP = `
  import { createQueue } from "skiplocked";
  import { openSqlite } from "skiplocked/sqlite";
  import Database from "better-sqlite3";
  for (const db of [await openSqlite("queue.db"), new Database("queue.db")]) {
    const queue = createQueue(db);
    await queue.migrate();
    await queue.enqueue({ role: "builder", payload: { repo: "acme/web" } });
    const claim = await queue.dequeue({ roles: ["builder"] });
    await queue.heartbeat(claim);
    await queue.complete(claim, { outcome: "built" });
    console.log(claim.payload.repo);
  }`;

const TYPED = `
import Sqlite from "better-sqlite3";
import postgres from "postgres";
import { type Claim, type Connection, createQueue, LeaseLostError, type NewWork, SkiplockedError } from "skiplocked";
import { openSqlite } from "skiplocked/sqlite";

type Payloads = { builder: { repo: string }; mailer: string | null };
const sql = postgres("postgres://localhost");
const connections: Connection[] = [await openSqlite(":memory:"), new Sqlite(":memory:"), sql];
const queue = createQueue<Payloads>(sql, { schema: "jobs", maxPickups: 5 });

const one: { attemptId: string } = await queue.enqueue({ role: "builder", payload: { repo: "acme/web" }, delayMs: 5 });
const [first] = await queue.enqueue([{ role: "mailer" }, { role: "mailer", payload: "a", runAt: new Date() }]);
const work: NewWork<Payloads> = { role: "mailer", payload: null, workflowId: 1n, tier: null, key: "k" };
// @ts-expect-error The payload of another role.
await queue.enqueue({ role: "builder", payload: "text" });
// @ts-expect-error No payload where one is needed.
await queue.enqueue({ role: "builder" });
// @ts-expect-error No such role.
await queue.enqueue({ role: "painter" });
// @ts-expect-error Two times at once.
await queue.enqueue({ role: "mailer", delayMs: 1, runAt: new Date() });
// @ts-expect-error No such role.
await queue.dequeue({ roles: ["painter"] });
// @ts-expect-error No limit.
await queue.dequeueMany({ roles: ["mailer"] });

const claim = await queue.dequeue({ roles: ["builder"] });
if (claim.acquired) {
  const repo: string = claim.payload.repo;
  const role: "builder" = claim.role;
  // @ts-expect-error Ids are text.
  const id: number = claim.attemptId;
  await queue.complete(claim, { outcome: "built", result: { repo, role, id }, next: [work] });
  // @ts-expect-error Follow-up work has payloads as well.
  await queue.complete(claim, { next: [{ role: "builder", payload: {} }] });
} else {
  const reason: "no_roles_configured" | "no_pending_eligible" | "pickup_limit_exceeded" = claim.reason;
  // @ts-expect-error A refusal has no payload.
  console.log(reason, claim.payload);
}
const either: Claim<Payloads>[] = await queue.dequeueMany({ roles: ["builder", "mailer"], limit: 2 });
for (const each of either) {
  if (each.role === "builder") each.payload.repo.toUpperCase();
  // @ts-expect-error The payload may be a mailer's.
  else each.payload.repo;
}
await sql.begin(async (transaction) => {
  await queue.using(transaction).enqueue(work);
});
const untyped = await createQueue(sql).dequeue({ roles: ["any"] });
// @ts-expect-error Nothing is known of it.
if (untyped.acquired) untyped.payload.repo;
await createQueue(sql).enqueue({ role: "any", payload: [1, 2] });
const beats: { held: boolean }[] = await queue.heartbeat([{ attemptId: 1, instanceId: "me", fencingToken: "1" }]);
const code: string = new LeaseLostError("lost") instanceof SkiplockedError ? new LeaseLostError("lost").code : "";
console.log(one, first?.created, connections, beats, code);
`;

describe("package", () => {
  let packed: string[];
  let consumer: string;
  const unpacked = (path: string) => join(consumer, "node_modules", "skiplocked", path);
  const link = (name: string) => {
    const target = join(consumer, "node_modules", name);
    mkdirSync(dirname(target), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), target);
  };
  const run = (...args: string[]) => {
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: "" };
    return execFileSync(process.execPath, args, { cwd: consumer, encoding: "utf8", env, stdio: "pipe" });
  };

  before(() => {
    // From a copy: the build must not disturb what others do with this tree.
    const source = join(temporaryFolder("source"), "skiplocked");
    const isWanted = (path: string) => !NOT_PACKED.includes(relative(ROOT, path));
    cpSync(ROOT, source, { recursive: true, filter: isWanted });
    symlinkSync(join(ROOT, "node_modules"), join(source, "node_modules"));
    const env = { ...process.env, npm_config_offline: "true", npm_config_update_notifier: "false" };
    execFileSync("npm", ["pack", "--pack-destination", dirname(source)], { cwd: source, stdio: "pipe", env });
    const tarball = readdirSync(dirname(source)).find((name) => name.endsWith(".tgz"));
    assert.ok(tarball);

    consumer = join(temporaryFolder("pack age"), "für uns");
    mkdirSync(unpacked(""), { recursive: true });
    execFileSync("tar", ["-xzf", join(dirname(source), tarball), "--strip-components", "1", "-C", unpacked("")]);
    writeFileSync(join(consumer, "package.json"), '{ "type": "module" }');
    packed = readdirSync(unpacked(""), { recursive: true, encoding: "utf8" }).map((path) => path.replaceAll("\\", "/"));
  });

  test("holds the bundle, the SQL, what explains them, and nothing else", () => {
    const prose = ["CHANGELOG.md", "LICENSE", "README.md"].filter((name) => existsSync(join(ROOT, name)));
    assert.deepEqual(new Set(readdirSync(unpacked(""))), new Set([...prose, "dist", "package.json", "sql"]));
    for (const entry of ["mod", "sqlite"]) assert.ok(packed.includes(`dist/${entry}.js`) && packed.includes(`dist/${entry}.d.ts`));
    assert.deepEqual(packed.filter((path) => /test|\.map$|\.tsx?$/.test(path) && !path.endsWith(".d.ts")), []);
    const sql = readdirSync(join(ROOT, "sql"), { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".sql"));
    for (const path of sql) assert.deepEqual(readFileSync(unpacked(join("sql", path))), readFileSync(join(ROOT, "sql", path)), path);
  });

  test("needs no other package", () => {
    const manifest = JSON.parse(readFileSync(unpacked("package.json"), "utf8"));
    assert.deepEqual([manifest.dependencies, manifest.optionalDependencies, manifest.bundleDependencies], [undefined, undefined, undefined]);
    for (const peer of Object.keys(manifest.peerDependencies)) assert.equal(manifest.peerDependenciesMeta[peer]?.optional, true, peer);
    for (const hook of ["preinstall", "install", "postinstall", "prepare"]) assert.equal(manifest.scripts?.[hook], undefined);
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
    // Without the prefix a bundler may take a package of that name, "process" for one.
    assert.deepEqual(names.filter((name) => !name.startsWith("node:")), []);
  });

  test("is imported and required where no driver is installed", () => {
    const names = "createQueue,LeaseLostError,SkiplockedError";
    const check = (get: string) => `for (const name of "${names}".split(",")) if (typeof (${get})[name] !== "function") throw name;`;
    run("--input-type=module", "-e", `import * as all from "skiplocked"; ${check("all")}`);
    run("--input-type=commonjs", "-e", `const all = require("skiplocked"); ${check("all")} require("skiplocked/sqlite")`);
    const missing = `import { openSqlite } from "skiplocked/sqlite"; await openSqlite(":memory:").catch((error) => console.log(error.code))`;
    assert.equal(run("--input-type=module", "-e", missing), "driver_missing\n");
  });

  test("gives the SQL by its path", () => {
    for (const path of ["postgres/queries/dequeue.sql", "sqlite/schema.sql"]) {
      const resolved = run("--input-type=commonjs", "-p", `require.resolve("skiplocked/sql/${path}")`).trim();
      assert.equal(readFileSync(resolved, "utf8"), readFileSync(join(ROOT, "sql", path), "utf8"));
    }
    assert.equal(run("--input-type=commonjs", "-p", 'require("skiplocked/package.json").name').trim(), "skiplocked");
    assert.throws(() => run("--input-type=commonjs", "-e", 'require("skiplocked/dist/mod.js")'), /ERR_PACKAGE_PATH_NOT_EXPORTED/);
  });

  test("runs a queue with better-sqlite3", () => {
    for (const name of ["better-sqlite3", "bindings", "file-uri-to-path"]) link(name);
    assert.equal(run("--input-type=module", "-e", ROUND_TRIP), "acme/web\nacme/web\n");
  });

  for (const [resolution, module] of [["Node16", "Node16"], ["Bundler", "ESNext"]] as const) {
    test(`types hold with moduleResolution ${resolution}`, () => {
      if (resolution === "Node16") for (const name of ["postgres", "@types/better-sqlite3", "@types/node"]) link(name);
      const file = join(consumer, "consumer.ts");
      writeFileSync(file, TYPED);
      const program = ts.createProgram([file], {
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        noEmit: true,
        esModuleInterop: true,
        target: ts.ScriptTarget.ES2022,
        lib: ["lib.es2022.d.ts"],
        module: ts.ModuleKind[module],
        moduleResolution: ts.ModuleResolutionKind[resolution],
        types: [],
      });
      // Of the drivers' types only what is ours to answer for: that also takes a tenth of the time.
      const files = program.getSourceFiles().filter(({ fileName }) => /consumer\.ts$|\/skiplocked\/dist\//.test(fileName));
      assert.ok(files.length >= 3);
      const general = [...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics()];
      const ours = [...general, ...files.flatMap((each) => program.getSemanticDiagnostics(each))];
      assert.deepEqual(ours.map(({ messageText, file, start }) => [file?.fileName, start, messageText]), []);
    });
  }
});

// What JSR would publish, used as Deno's users do: by its specifier, from a registry, without permissions.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import postgres from "postgres";
import tsup from "../tsup.config.ts";
import { serveJsr } from "./support/jsr_server.ts";
import { childEnvironment, repositoryPackage } from "./support/packed.ts";
import { createDatabase } from "./support/postgres_server.ts";
import { DONE, OPEN, roundTrip, run } from "./support/round_trip.ts";
import { runtimes } from "./support/runtimes.ts";
import { temporaryFolder } from "./support/temp.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const URL_OF_SERVER = process.env["DATABASE_URL"];
const NEEDS_POSTGRES = { skip: URL_OF_SERVER ? false : "no DATABASE_URL" };
const manifest = readJson("deno.json");
const TYPED = `
  import { createQueue } from "jsr:${manifest.name}@${manifest.version}";
  import type { Database } from "jsr:${manifest.name}@${manifest.version}/sqlite";
  export async function repo(db: Database): Promise<string> {
    const claim = await createQueue<{ builder: { repo: string } }>(db).dequeue({ roles: ["builder"] });
    // @ts-expect-error Ids are text.
    const id: number = claim.acquired ? claim.attemptId : "";
    return claim.acquired ? claim.payload.repo : claim.reason + id;
  }`;
const deno = runtimes().find(({ kind }) => kind === "deno");

describe("jsr and npm", () => {
  it("have the same version, licence and exports", () => {
    const npm = readJson("package.json");
    assert.deepEqual([manifest.version, manifest.license], [npm.version, npm.license]);
    const modules = Object.entries<{ default?: string }>(npm.exports).filter(([, target]) => target.default !== undefined);
    const entries = (tsup as { entry: Record<string, string> }).entry;
    const sources = modules.map(([name, target]) => [name, `./${entries[basename(String(target.default), ".js")]}`]);
    assert.deepEqual(Object.fromEntries(sources), manifest.exports);
  });
});

describe("jsr", { skip: deno ? false : "Deno is not installed" }, () => {
  const cache = temporaryFolder("deno");
  let dryRun: ReturnType<typeof runDeno>;
  let registry: Awaited<ReturnType<typeof serveJsr>>;

  function runDeno(args: string[], env: Record<string, string> = {}, cwd: string = ROOT) {
    const environment = childEnvironment({ DENO_DIR: cache, NO_COLOR: "1", ...env });
    return spawnSync(String(deno?.program), args, { cwd, env: environment, encoding: "utf8" });
  }

  before(async () => {
    dryRun = runDeno(["publish", "--dry-run", "--allow-dirty"]);
    const files = new Map(published(dryRun.stderr).map((path) => [`/${path}`, readFileSync(join(ROOT, path))]));
    const others = { "/postgres.js": await driver(), "/postgres.ts": onPostgres(), "/sqlite.ts": onSqlite(), "/typed.ts": TYPED };
    registry = await serveJsr(manifest, files, new Map(Object.entries(others)));
  });
  after(() => registry.close());

  it("publishes without a complaint, and no more than is meant", () => {
    assert.equal(dryRun.status, 0, dryRun.stderr);
    // Drivers must not become dependencies, so their names are no literals there; Deno loads neither.
    const complaints = [...dryRun.stderr.matchAll(/^(?:warning|error)\S*: .*\n *--> (\S+?):/gm)].map(([, file]) => basename(String(file)));
    assert.deepEqual(complaints.sort(), ["better_sqlite3.ts", "bun_sqlite.ts"]);
    const files = published(dryRun.stderr);
    assert.ok(files.includes("mod.ts") && files.includes("src/sql.gen.ts") && files.includes("sql/postgres/schema.sql"));
    assert.deepEqual(files.filter((path) => !/^(mod\.ts|src\/.*\.ts|sql\/.*\.sql|docs\/.*\.md|[A-Z]+(\.md)?|deno\.json)$/.test(path)), []);
  });

  it("documents everything that it exports", () => {
    const { status, stderr } = runDeno(["doc", "--lint", ...Object.values<string>(manifest.exports)]);
    assert.equal(status, 0, stderr);
    for (const path of Object.values<string>(manifest.exports)) assert.match(readFileSync(join(ROOT, path), "utf8"), /^\/\*\*(?:(?!\*\/)[^])*@module/);
  });

  /** Runs a program that the registry serves, from an empty cache: nothing is read but what comes from there. */
  function runServed(path: string, flags: string[], args: string[] = []): Promise<string> {
    const options = ["run", "--quiet", "--no-prompt", "--no-config", "--no-lock", ...flags];
    const env = { DENO_DIR: temporaryFolder("deno"), JSR_URL: registry.url, NO_COLOR: "1" };
    return run(String(deno?.program), [...options, `${registry.url}${path}`, ...args], env);
  }

  for (const permissions of [["--allow-net"], ["--allow-net=127.0.0.1", "--allow-env=PG*"]]) {
    it(`works on Postgres with ${permissions.join(" ")} and nothing else`, NEEDS_POSTGRES, async () => {
      const schema = `jsr_${randomUUID().replaceAll("-", "")}`;
      const sql = postgres(String(URL_OF_SERVER), { max: 1, onnotice() {} });
      try {
        const [instanceId, done] = (await runServed("postgres.ts", permissions, [String(URL_OF_SERVER), schema, String(permissions.length)])).split("\n");
        // Without the permission the host's name is not asked for.
        assert.match(String(instanceId), /^localhost\/\d+\/[0-9a-f-]{36}$/);
        assert.equal(done, DONE);
      } finally {
        await sql`drop schema if exists ${sql(schema)} cascade`;
        await sql.end();
      }
      assert.ok([...registry.asked].every((path) => !path.endsWith(".sql")), "the SQL was loaded as files");
    });
  }

  it("works on SQLite in memory with no permission", async () => {
    assert.equal(await runServed("sqlite.ts", [], [":memory:"]), DONE);
  });

  it("brings its types", async () => {
    assert.equal(await runServed("typed.ts", ["--check=all"]), "");
  });

  it("has examples that compile and run", NEEDS_POSTGRES, async () => {
    const database = await createDatabase(String(URL_OF_SERVER));
    const files = ["mod.ts", "src", "README.md"].map((path) => join(ROOT, path));
    const args = ["test", "--doc", "--allow-all", "--config", join(ROOT, "deno.json"), ...files];
    // From elsewhere: the examples make files.
    const { status, stdout, stderr } = runDeno(args, { DATABASE_URL: database.url }, temporaryFolder("examples"));
    await database.drop();
    assert.equal(status, 0, stdout + stderr);
  });
});

/** The driver reads its own variables; who denies them all says so to it. */
function onPostgres(): string {
  const open = `
    import process from "node:process";
    import postgres from "./postgres.js";
    if (Deno.args[2] === "1") process.env = {};
    const connection = postgres(address, { onnotice() {} }), close = () => connection.end();
    console.log(createQueue(connection).instanceId);`;
  return served(open);
}

function onSqlite(): string {
  return served(OPEN.nothing);
}

function served(open: string): string {
  return `// @ts-nocheck: written for every runtime\n${roundTrip(open, "Deno.args")}`
    .replaceAll('"skiplocked', `"jsr:${manifest.name}@${manifest.version}`);
}

function published(output: string): string[] {
  const root = new URL("../", import.meta.url).href;
  return [...output.matchAll(/^ +(file:\S+) \([\d.]+\w+\)$/gm)].map(([, url]) => String(url).slice(root.length));
}

/** postgres.js as one module, since the registry of npm is not for tests. */
async function driver(): Promise<Uint8Array> {
  const { outputFiles } = await build({ entryPoints: [repositoryPackage("postgres/src/index.js")], bundle: true, format: "esm", platform: "node", write: false });
  return outputFiles[0]!.contents;
}

function readJson(name: string) {
  return JSON.parse(readFileSync(join(ROOT, name), "utf8"));
}

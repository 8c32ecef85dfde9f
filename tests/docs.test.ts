import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { createDatabase } from "./support/postgres_server.ts";
import { spawnWorker } from "./support/processes.ts";
import { atEnd, test as it } from "./support/testing.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
// Inside the tree, so that the examples find the drivers.
const folder = mkdtempSync(join(root, "tests/.examples-"));
after(() => rmSync(folder, { recursive: true, force: true }));

describe("documentation", () => {
  for (const { name, code } of examples()) {
    it(`runs ${name}`, { skip: needsPostgres(code) && !process.env.DATABASE_URL ? "no DATABASE_URL" : false }, async () => {
      const path = join(folder, `${name.replaceAll(/\W/g, "_")}.ts`);
      writeFileSync(path, runnable(code));
      const worker = spawnWorker(path, [], needsPostgres(code) ? { DATABASE_URL: await databaseUrl() } : {});
      const { code: status } = await worker.exited;
      assert.equal(status, 0, worker.stderr);
    });
  }
});

describe("the worker of the README", () => {
  const code = examples().find((example) => example.code.includes("export async function work"))!.code;
  // What a reader does with it: the queue is typed, a handler fails once, the database is away once at each step.
  const program = runnable(`${code}
    import { createQueue } from "skiplocked";
    import { openSqlite } from "skiplocked/sqlite";
    const queue = createQueue<{ builder: { n: number }; mailer: string }>(await openSqlite(":memory:"), { staleAfterMs: 1_000 });
    await queue.migrate();
    await queue.enqueue([{ role: "builder", payload: { n: 1 } }, { role: "mailer", payload: "x" }]);
    const away = new Set(["reap", "dequeue", "complete", "fail"]);
    const once = (name: string) => { if (away.delete(name)) throw new Error(name + " is away"); };
    const shaky: typeof queue = {
      ...queue,
      reap: async (options) => (once("reap"), await queue.reap(options)),
      dequeue: async (options) => (once("dequeue"), await queue.dequeue(options)),
      complete: async (lease, options) => (once("complete"), await queue.complete(lease, options)),
      fail: async (lease, options) => (once("fail"), await queue.fail(lease, options)),
    };
    const stop = new AbortController();
    let calls = 0;
    const working = work(shaky, ["builder", "mailer"], async (claim) => {
      if (claim.role === "mailer" && ++calls < 3) throw new Error("broken");
      return claim.role;
    }, stop.signal);
    for (let done = 0; done < 2;) {
      done = (await queue.stats()).roles.reduce((sum, role) => sum + role.succeeded, 0);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    stop.abort();
    await working;
    const { roles } = await queue.stats();
    console.log(JSON.stringify({ type: "end", away: away.size, roles: roles.map((role) => [role.role, role.succeeded, role.failed]) }));`);
  const path = join(folder, "worker.ts");

  it("goes on whatever the database does, and takes no fault of it for one of the work", { timeout: 120_000 }, async () => {
    // The pauses of the README are for a server.
    writeFileSync(path, program.replaceAll(/sleep\(\d_000\)/g, "sleep(20)").replace("1_000 * 2 **", "2 **"));
    const worker = spawnWorker(path);
    const end = await worker.nextEvent("end", 60_000);
    assert.deepEqual(end, { type: "end", away: 0, roles: [["builder", 1, 0], ["mailer", 1, 1]] }, worker.stderr);
  });

  it("is typed by role", () => {
    writeFileSync(path, program);
    const options = ts.parseJsonConfigFileContent(ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile).config, ts.sys, root).options;
    const complaints = ts.getPreEmitDiagnostics(ts.createProgram([path], { ...options, isolatedDeclarations: false, declaration: false }));
    assert.deepEqual(complaints.map(({ messageText }) => messageText), []);
  });
});

describe("documentation of the SQL by hand", () => {
  const blocks = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/```sh\n(cd sql\/[\s\S]*?)```/g)].map((match) => String(match[1]));

  it("runs the shell's blocks as they are printed", { skip: process.env.DATABASE_URL ? false : "no DATABASE_URL" }, async () => {
    assert.equal(blocks.length, 2);
    const url = new URL(await databaseUrl());
    const env = { ...process.env, PGHOST: url.hostname, PGPORT: url.port, PGUSER: url.username, PGDATABASE: url.pathname.slice(1) };
    for (const block of blocks) {
      const script = block.replaceAll("/tmp/queue.db", join(folder, "by_hand.db"));
      const { stdout, stderr, status } = spawnSync("bash", ["-e", "-c", script], { cwd: root, env, encoding: "utf8" });
      assert.equal(status, 0, stderr);
      assert.doesNotMatch(stdout + stderr, /no_pending_eligible|parameter CMD|error/i);
      assert.match(stdout, /acme\/web/);
      // Of stats: one attempt of the role, which succeeded.
      assert.match(stdout, /builder[ |]+0[ |]+0[ |]+0[ |]+1[ |]+0/);
    }
  });
});

function examples(): { name: string; code: string }[] {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".gen.ts"))
    .map((file) => join("src", file));
  const found = ["README.md", "mod.ts", ...sources].flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map((match, place) => ({
      name: `${file} ${place + 1}`,
      code: String(match[1]).replaceAll(/^ *\* ?/gm, file.endsWith(".md") ? "$&" : ""),
    }));
  });
  assert.ok(found.length >= 8, "the examples were not found");
  return found;
}

// From the source and not from the build; a pool that is left open would keep the process alive.
function runnable(code: string): string {
  const moved = code.replaceAll('"skiplocked/sqlite"', '"../../src/sqlite.ts"').replaceAll('"skiplocked"', '"../../mod.ts"');
  return `process.chdir(${JSON.stringify(folder)});\n${moved}\nprocess.exit(0);\n`;
}

// A database of its own: the example uses the default schema.
async function databaseUrl(): Promise<string> {
  const database = await createDatabase(String(process.env.DATABASE_URL));
  atEnd(database.drop);
  return database.url;
}

function needsPostgres(code: string): boolean {
  return code.includes("DATABASE_URL");
}

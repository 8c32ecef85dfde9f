import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { basename } from "node:path";
import { describe } from "node:test";
import postgres from "postgres";
import type { Claim } from "../mod.ts";
import type { Evidence } from "../examples/demo/evidence.ts";
import type { Entry, Held } from "../examples/demo/journal.ts";
import { examine, holds } from "../examples/demo/report.ts";
import { type BackendUnderTest, mainBackends, type Opened } from "./support/backends.ts";
import { spawnWorker } from "./support/processes.ts";
import { temporaryFolder } from "./support/temp.ts";
import { test as it } from "./support/testing.ts";

const PROOF = [
  /✓ by the table, all 2,000 attempts and their workflows succeeded/,
  /✓ by the workers' journals, 2,000 completions of 2,000 different attempts/,
  /✓ table and journals name the same worker and fencing token for every one of them/,
  /✓ the table counts the same pickups as the reaper's journal/,
  /✓ worker \d+ was killed with attempts .* in its hands; finished by worker/,
  /✓ worker \d+ slept past its lease with attempts .* in its hands; finished by worker/,
  /✓ worker \d+ woke and tried to complete attempt \d+ with fencing token 1: refused \(LeaseLostError\)/,
  /✓ the poison attempt is STUCK after 3 pickups/,
  /✓ 3 workers died of it/,
  /^All of it holds/m,
];

function testProgram({ dialect }: BackendUnderTest): void {
  it("proves what it shows and leaves nothing behind", { timeout: 120_000 }, async () => {
    const demo = startDemo(dialect);
    const { code } = await demo.exited;
    const output = demo.output();
    assert.equal(code, 0, output);
    for (const line of PROOF) assert.match(output, line);
    assert.doesNotMatch(output, /✗|\x1b/);
    await assertNothingLeft(demo);
  });

  it("leaves nothing behind when it is interrupted", { timeout: 60_000 }, async () => {
    const demo = startDemo(dialect);
    await demo.seen(/takes its place/);
    demo.interrupt();
    assert.equal((await demo.exited).code, 130, demo.output());
    await assertNothingLeft(demo);
  });
}

function startDemo(dialect: "sqlite" | "postgres") {
  const TMPDIR = temporaryFolder("demo in a path with blanks");
  const env = dialect === "sqlite" ? { TMPDIR, DATABASE_URL: undefined } : { TMPDIR };
  const program = spawnWorker(new URL("../examples/demo.ts", import.meta.url), [], env);
  const lines: string[] = [];
  const output = () => lines.join("\n") + program.stderr;
  program.onLine((line) => lines.push(line));
  return {
    folder: TMPDIR,
    output,
    exited: program.exited,
    interrupt: () => program.kill("SIGINT"),
    async seen(wanted: RegExp) {
      const found = new Promise<void>((resolve) => program.onLine((line) => wanted.test(line) && resolve()));
      const ended = program.exited.then(() => assert.fail(`The demo ended without ${wanted}:\n${output()}`));
      await Promise.race([found, ended]);
    },
  };
}

async function assertNothingLeft({ folder, output }: ReturnType<typeof startDemo>): Promise<void> {
  assert.deepEqual(readdirSync(folder).filter((name) => name.startsWith("skiplocked")), []);
  // The workers have the folder's path among their arguments.
  assert.doesNotMatch(execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }), new RegExp(basename(folder)));
  const [, schema] = /^skiplocked on Postgres, schema (\S+)$/m.exec(output()) ?? [];
  if (schema === undefined) return;
  const sql = postgres(process.env.DATABASE_URL ?? "", { max: 1 });
  try {
    assert.deepEqual([...await sql`select from pg_namespace where nspname = ${schema}`], []);
  } finally {
    await sql.end();
  }
}

// Each breaks the table or the journals in one place, and says which line must tell.
type Fault = [name: string, harm: string | ((evidence: Evidence) => void), told: RegExp];

const attempt = (id: number, set: string) => `update workflow_attempts set ${set} where attempt_id = ${id}`;
const workflow = (id: number, set: string) => `update workflows set ${set} where workflow_id = ${id}`;
const unwritten = (type: Entry["type"]) => (evidence: Evidence) => {
  const first = evidence.journals.find((entry) => entry.type === type);
  evidence.journals = evidence.journals.filter((entry) => entry !== first);
};
const writtenTwice = (type: Entry["type"]) => (evidence: Evidence) => {
  evidence.journals = [...evidence.journals, ...evidence.journals.filter((entry) => entry.type === type).slice(0, 1)];
};

const FAULTS: Fault[] = [
  ["an attempt is still pending", attempt(6, "status = 'pending'"), /5 of 6 attempts/],
  ["a workflow is not done", workflow(6, "status = 'ACTIVE'"), /5 of 6 attempts/],
  ["an attempt is gone", "delete from workflow_attempts where attempt_id = 6", /5 of 6 attempts/],
  ["an attempt was completed twice", writtenTwice("completed"), /attempt 1 was completed 2 times/],
  ["a completion is in no journal", unwritten("completed"), /5 completions of 5 different attempts instead of 6/],
  ["the table names another worker", attempt(6, "locked_by_instance = 'x'"), /differ about attempt 6$/],
  ["the table names another token", attempt(6, "fencing_token = 9"), /differ about attempt 6$/],
  ["a pickup was not counted", attempt(1, "pickup_count = 0"), /different pickups of attempt 1$/],
  ["a pickup is in no journal", unwritten("reaped"), /different pickups of attempts 1–2$/],
  ["nobody was killed", unwritten("killed"), /no worker was killed/],
  ["the killed one finished after all", attempt(2, "locked_by_instance = 'i/1'"), /finished by others: attempt 2$/],
  ["nobody was stopped", unwritten("stopped"), /no worker was stopped/],
  ["the late one was not refused", unwritten("refused"), /attempt 3 with fencing token 1 was not refused/],
  ["the late one had its way", attempt(3, "locked_by_instance = 'i/2'"), /attempt 3 with fencing token 1 was not refused/],
  ["the poison is not STUCK", workflow(7, "status = 'ACTIVE'"), /not STUCK after 3 pickups but ACTIVE after 3/],
  ["the poison was picked up again", attempt(7, "pickup_count = 4"), /not STUCK after 3 pickups but STUCK after 4/],
  ["fewer died of the poison", unwritten("died"), /not 3 workers died of it but 2/],
];

for (const backend of mainBackends) {
  describe(`${backend.name} · demo`, () => {
    if (backend.name !== "better-sqlite3 12") testProgram(backend);
    testReport(backend);
  });
}

function testReport(backend: BackendUnderTest): void {
  it("reports that all is well only when it is", async () => {
    const { evidence } = await play(backend);
    const findings = await examine(evidence);
    assert.deepEqual(findings.flatMap(({ lines }) => lines).filter(({ ok }) => !ok), []);
    assert.ok(holds(findings));
    assert.ok(!holds(await examine({ ...evidence, attempts: 7 })));
    assert.ok(!holds(await examine({ ...evidence, journals: [] })));
  });

  for (const [name, harm, told] of FAULTS) {
    it(`reports that ${name}`, async () => {
      const { evidence, sql } = await play(backend);
      if (typeof harm === "string") await sql(harm);
      else harm(evidence);
      const findings = await examine(evidence);
      const faults = findings.flatMap(({ lines }) => lines).filter(({ ok }) => !ok).map(({ text }) => text);
      assert.ok(!holds(findings));
      assert.ok(faults.some((text) => told.test(text)), faults.join("\n"));
    });
  }
}

// The demo's story with 6 attempts, in one process.
async function play(backend: BackendUnderTest): Promise<{ evidence: Evidence; sql: Opened["sql"] }> {
  const { queue: open, sql, age } = await backend.open();
  const queue = open();
  const journals: Entry[] = [];
  const about = (worker: number) => ({ worker: `worker ${worker}`, instanceId: `i/${worker}` });
  const claim = (worker: number, role: string, limit: number) =>
    queue.dequeueMany({ roles: [role], limit, instanceId: `i/${worker}` });
  const complete = (worker: number, one: Claim) =>
    queue.complete(one).then(
      () => journals.push({ type: "completed", ...about(worker), attempt: held(one), role: one.role }),
      (error) => journals.push({ type: "refused", ...about(worker), attempt: held(one), error: error.name }),
    );
  const reap = async (from: number, silent: Claim[]) => {
    for (const { attemptId } of silent) await age(attemptId, 90_000);
    const { requeued, stuck } = await queue.reap();
    journals.push({ type: "reaped", ...about(from), stuck: stuck.length > 0, attempts: [...requeued, ...stuck] });
  };

  await queue.migrate();
  await queue.enqueue(Array.from({ length: 6 }, () => ({ role: "fetcher" })));
  await queue.enqueue({ role: "importer" });
  const victims = await claim(1, "fetcher", 2);
  journals.push({ type: "killed", ...about(1), attempts: victims.map(held) });
  await reap(1, victims);
  for (const one of await claim(9, "fetcher", 2)) await complete(9, one);
  const asleep = await claim(2, "fetcher", 2);
  journals.push({ type: "stopped", ...about(2), attempts: asleep.map(held) });
  await reap(2, asleep);
  for (const one of await claim(9, "fetcher", 4)) await complete(9, one);
  for (const one of asleep) await complete(2, one);
  for (const worker of [3, 4, 5]) {
    const poison = await claim(worker, "importer", 1);
    journals.push({ type: "died", ...about(worker), signal: "SIGKILL", successor: "" });
    await reap(worker, poison);
  }
  return { evidence: { select: sql, prefix: "", journals, attempts: 6 }, sql };
}

function held({ attemptId, fencingToken }: Claim): Held {
  return { attemptId, fencingToken };
}

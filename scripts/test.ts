// What `npm test` runs. Arguments choose test files, by path or by a part of the name:
//   npm test -- claim tests/worker.test.ts
import { readdirSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import process from "node:process";
import { finished } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";
import { runtimeName } from "../tests/support/connections/runtime_name.ts";
import { connections } from "../tests/support/connections/table.ts";
import { type PostgresServer, startPostgres } from "../tests/support/postgres_server.ts";
import { createTally, formatTally, missingBackends, type Tally } from "./test_tally.ts";

const TESTS = fileURLToPath(new URL("../tests/", import.meta.url));
const FILE_TIMEOUT_MS = 10 * 60_000;

const filters = process.argv.slice(2);
const files = chooseFiles(filters);
const server = process.env["DATABASE_URL"] ? undefined : await startServer();
if (server) process.env["DATABASE_URL"] = server.url;
const tally = await runTests(files).finally(() => server?.stop());
const complaints = judge(tally);

for (const complaint of complaints) console.log(`\n${complaint}`);
console.log(`\nTests took ${Math.round(performance.now() / 1000)} s\n\n${formatTally(tally)}`);
process.exitCode = complaints.length > 0 ? 1 : 0;

async function startServer(): Promise<PostgresServer | undefined> {
  const start = performance.now();
  try {
    const server = await startPostgres();
    console.log(`Postgres from ${server.binDir} started in ${Math.round(performance.now() - start)} ms\n`);
    return server;
  } catch (error) {
    if (process.env["CI"]) throw error;
    console.warn(`No Postgres, so its tests are skipped. ${error}\n`);
    return undefined;
  }
}

function chooseFiles(filters: readonly string[]): string[] {
  const all = readdirSync(TESTS).filter((name) => name.endsWith(".test.ts")).sort();
  if (filters.length === 0) return all.map((name) => resolve(TESTS, name));
  return [...new Set(filters.flatMap((filter) => {
    if (statSync(filter, { throwIfNoEntry: false })?.isFile()) return [resolve(filter)];
    const matches = all.filter((name) => name.includes(filter));
    if (matches.length === 0) throw new Error(`No test file matches "${filter}"`);
    return matches.map((name) => resolve(TESTS, name));
  }))];
}

async function runTests(files: string[]): Promise<Tally> {
  const tally = createTally();
  if (files.length === 0) return tally;
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());
  const events = run({
    files,
    concurrency: availableParallelism(),
    timeout: FILE_TIMEOUT_MS,
    signal: interrupted.signal,
  });
  events.on("test:start", tally.started);
  events.on("test:pass", tally.passed);
  events.on("test:fail", tally.failed);
  const report = events.compose(new spec());
  report.pipe(process.stdout, { end: false });
  await finished(report);
  return tally;
}

function dailyConnections(): string[] {
  return connections.filter(({ daily, runsOn }) => daily === true && runsOn(runtimeName())).map(({ name }) => name);
}

function judge(tally: Tally): string[] {
  const complaints: string[] = [];
  if (tally.total.failed > 0) complaints.push("Some tests failed.");
  if (tally.total.passed + tally.total.failed === 0) complaints.push("No test ran.");
  if (process.env["CI"] && filters.length === 0) {
    for (const name of missingBackends(tally, dailyConnections())) complaints.push(`No test ran on the backend "${name}".`);
  }
  return complaints;
}

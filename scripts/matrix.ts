// Runs the conformance suite on every connection under every runtime, and prints what came of it as a table.
//   npm run matrix                     all of it
//   npm run matrix -- --cover          each connection under each kind of runtime, each option once: what CI has the time for
//   npm run matrix -- Deno "pg Pool"   rows, columns or cells whose names contain a word of these
import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { formatMatrix } from "./matrix_table.ts";
import { type CellResult, runCell } from "./matrix_cell.ts";
import { cover } from "./matrix_cover.ts";
import { rows, type Row } from "./matrix_rows.ts";
import { connections } from "../tests/support/connections/table.ts";
import { startPostgres } from "../tests/support/postgres_server.ts";
import { installRuntimes, type Runtime, runtimes } from "../tests/support/runtimes.ts";

interface Cell {
  row: Row;
  runtime: Runtime;
}

const FOLDER = fileURLToPath(new URL("../", import.meta.url));
const isCover = process.argv.includes("--cover");
const words = process.argv.slice(2).filter((word) => word !== "--cover");

process.chdir(FOLDER);
installRuntimes();
const columns = runtimes();
const daily = new Set(connections.flatMap(({ name, daily }) => daily ? [name] : []));
// `npm test` runs the daily connections on its own Node.
const covered = cover(rows, columns, (row, runtime) => daily.has(row) && runtime === columns[0]?.name);
const cells = rows.flatMap((row) => columns.filter(({ name }) => row.runsOn(name)).map((runtime): Cell => ({ row, runtime }))).filter(isWanted);
const servers = await startServers();
const matrix = new Map<string, CellResult>();
const failures: string[] = [];
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());

try {
  // Each in a process of its own. The longest first, and one more than there are processors: a cell and its server take turns.
  const waiting = cells.toSorted((a, b) => Number(b.row.name.startsWith("PGlite")) - Number(a.row.name.startsWith("PGlite")));
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, () => work(waiting)));
} finally {
  for (const server of servers.values()) await server.stop();
}

for (const output of failures) console.log(`\n${output}`);
const shown = <Of extends { name: string }>(all: readonly Of[], of: "row" | "runtime") => all.filter(({ name }) => cells.some((cell) => cell[of].name === name));
const isCell = (row: string, column: string) => cells.some((cell) => cell.row.name === row && cell.runtime.name === column);
const { text, isGood } = formatMatrix(matrix, shown(rows, "row"), shown(columns, "runtime"), isCell);
console.log(`\nThe matrix took ${Math.round(performance.now() / 1000)} s\n\n${text}`);
process.exitCode = isGood ? 0 : 1;

async function work(waiting: Cell[]): Promise<void> {
  for (let cell = waiting.shift(); cell !== undefined && !interrupted.signal.aborted; cell = waiting.shift()) await run(cell);
}

async function run({ row, runtime }: Cell): Promise<void> {
  const url = row.postgres === undefined ? undefined : servers.get(row.postgres)?.url;
  const result = await runCell(runtime, row.files, { ...row.env, ...(url && { DATABASE_URL: url }) }, interrupted.signal);
  matrix.set(`${row.name}|${runtime.name}`, result);
  const { passed, failed, skipped, seconds } = result;
  console.log(`${row.name} · ${runtime.name}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${Math.round(seconds)} s`);
  if (failed > 0 || passed === 0) failures.push(`== ${row.name} · ${runtime.name}\n${result.output}`);
}

async function startServers() {
  const folders = new Map(cells.flatMap(({ row }) => row.postgres === undefined ? [] : [[row.postgres, row.postgres] as const]));
  const started = new Map<string, Awaited<ReturnType<typeof startPostgres>>>();
  for (const binDir of folders.keys()) {
    const server = await startPostgres(binDir === "" ? {} : { binDir });
    started.set(binDir, server);
    const version = versionOf(server.binDir);
    console.log(`Postgres ${version} for ${binDir === "" ? "all rows that name no other" : "the rows that name it"}`);
    if (process.env["CI"] && binDir === "" && !version.startsWith("15.")) throw new Error(`The matrix is meant for Postgres 15, found ${version}`);
  }
  return started;
}

function versionOf(binDir: string): string {
  return String(/[\d.]+/.exec(execFileSync(join(binDir, "postgres"), ["--version"], { encoding: "utf8" })));
}

function isWanted({ row, runtime }: Cell): boolean {
  if (isCover && !covered.get(row.name)?.includes(runtime.name)) return false;
  return words.length === 0 || words.some((word) => `${row.name} · ${runtime.name}`.includes(word));
}

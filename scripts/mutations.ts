// Breaks a copy of the product in every way that a hand could slip, and sees that something notices:
//
//   npm run mutations                    all of them
//   npm run mutations -- sqlite reap     those whose dialect or name contains one of these words
import process from "node:process";
import { fileURLToPath } from "node:url";
import { runCatcher } from "../tests/mutations/catcher.ts";
import { makeCopy } from "../tests/mutations/copy.ts";
import type { Catcher, Mutation } from "../tests/mutations/mutation.ts";
import { postgresMutations } from "../tests/mutations/postgres.ts";
import { sqliteMutations } from "../tests/mutations/sqlite.ts";
import { startPostgres } from "../tests/support/postgres_server.ts";

type Line = [mutation: string, verdict: "caught" | "SURVIVED" | "equivalent" | "NO BASELINE" | "FAILED", by: string];

const words = process.argv.slice(2);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
const copy = makeCopy(fileURLToPath(new URL("../", import.meta.url)));
const server = await startPostgres();
// Each catcher has to hold on the unbroken product first: else it would catch anything.
const baselines = new Map<string, string | undefined>();
const lines: Line[] = [];
process.once("exit", printTable);
try {
  for (const mutation of [...postgresMutations, ...sqliteMutations].filter(isWanted)) {
    const line = await judge(mutation);
    lines.push(line);
    console.log(`${String(Math.round(performance.now() / 1_000)).padStart(5)} s  ${line.join(" · ")}`);
  }
} finally {
  await server.stop().catch(console.error);
}
process.exit(lines.length > 0 && lines.every(([, verdict]) => verdict === "caught" || verdict === "equivalent") ? 0 : 1);

// Whatever happens to one, the others have their turn, and all are in the table.
async function judge(mutation: Mutation): Promise<Line> {
  const name = `${mutation.dialect}: ${mutation.name}`;
  try {
    const problem = await baseline(mutation);
    if (problem !== undefined) return [name, "NO BASELINE", `${describe(mutation)}: ${problem}`];
    copy.apply(mutation);
    return [name, ...await judgeBroken(mutation)];
  } catch (error) {
    return [name, "FAILED", `${describe(mutation)}: ${(error as Error).message.split("\n")[0]}`];
  } finally {
    copy.restore();
  }
}

async function judgeBroken(mutation: Mutation): Promise<[Line[1], Line[2]]> {
  const { dialect, caughtBy, equivalent } = mutation;
  const { broken } = await runCatcher(caughtBy, dialect, copy.folder, server.url);
  if (equivalent !== undefined) return broken === undefined ? ["equivalent", equivalent] : ["FAILED", `it was to be equivalent: ${broken}`];
  return broken === undefined ? ["SURVIVED", describe(mutation)] : ["caught", `${describe(mutation)}: ${broken}`];
}

async function baseline({ caughtBy, dialect }: Mutation): Promise<string | undefined> {
  const key = JSON.stringify([caughtBy, dialect]);
  if (!baselines.has(key)) baselines.set(key, await problemOf(caughtBy, dialect));
  return baselines.get(key);
}

async function problemOf(catcher: Catcher, dialect: Mutation["dialect"]): Promise<string | undefined> {
  try {
    const { held, broken } = await runCatcher(catcher, dialect, copy.folder, server.url);
    return broken ?? (held === 0 ? "it looks at nothing" : undefined);
  } catch (error) {
    return (error as Error).message;
  }
}

function describe({ caughtBy }: Mutation): string {
  return "chaos" in caughtBy ? "chaos" : `${caughtBy.test.replace(/^tests\//, "")} (${caughtBy.pattern})`;
}

function isWanted({ dialect, name }: Mutation): boolean {
  return words.length === 0 || words.some((word) => `${dialect}: ${name}`.includes(word));
}

function printTable(): void {
  const width = Math.max(0, ...lines.map(([name]) => name.length));
  console.log(`\n${"mutation".padEnd(width)}  verdict     by`);
  for (const [name, verdict, by] of lines) console.log(`${name.padEnd(width)}  ${verdict.padEnd(10)}  ${by.length > 150 ? `${by.slice(0, 150)}…` : by}`);
  const count = (wanted: Line[1]) => lines.filter(([, verdict]) => verdict === wanted).length;
  console.log(`\n${lines.length} mutations: ${count("caught")} caught, ${count("equivalent")} equivalent, ${count("SURVIVED")} survived, ${count("NO BASELINE")} without a baseline, ${count("FAILED")} failed`);
}

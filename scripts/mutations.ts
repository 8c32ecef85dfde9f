// Breaks a copy of the product in every way that a hand could slip, and sees that something notices:
//
//   npm run mutations                    all of them
//   npm run mutations -- sqlite reap     those whose dialect or name contains one of these words
import process from "node:process";
import { fileURLToPath } from "node:url";
import { runCatcher } from "../tests/mutations/catcher.ts";
import { makeCopy } from "../tests/mutations/copy.ts";
import type { Mutation } from "../tests/mutations/mutation.ts";
import { postgresMutations } from "../tests/mutations/postgres.ts";
import { sqliteMutations } from "../tests/mutations/sqlite.ts";
import { startPostgres } from "../tests/support/postgres_server.ts";

type Line = [mutation: string, verdict: "caught" | "SURVIVED" | "equivalent" | "NO BASELINE", by: string];

const words = process.argv.slice(2);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
const copy = makeCopy(fileURLToPath(new URL("../", import.meta.url)));
const server = await startPostgres();
// Each catcher has to hold on the unbroken product first: else it would catch anything.
const baselines = new Map<string, string | undefined>();
const lines: Line[] = [];
try {
  for (const mutation of [...postgresMutations, ...sqliteMutations].filter(isWanted)) {
    const line = await judge(mutation);
    lines.push(line);
    console.log(`${String(Math.round(performance.now() / 1_000)).padStart(5)} s  ${line.join(" · ")}`);
  }
} finally {
  await server.stop();
}
printTable();
process.exit(lines.length > 0 && lines.every(([, verdict]) => verdict === "caught" || verdict === "equivalent") ? 0 : 1);

async function judge(mutation: Mutation): Promise<Line> {
  const { dialect, caughtBy, equivalent } = mutation;
  const name = `${dialect}: ${mutation.name}`;
  const problem = await baseline(mutation);
  if (problem !== undefined) return [name, "NO BASELINE", problem];
  try {
    copy.apply(mutation);
    const { broken } = await runCatcher(caughtBy, dialect, copy.folder, server.url);
    if (equivalent !== undefined) return [name, broken === undefined ? "equivalent" : "caught", broken ?? equivalent];
    return broken === undefined ? [name, "SURVIVED", describe(mutation)] : [name, "caught", `${describe(mutation)}: ${broken}`];
  } finally {
    copy.restore();
  }
}

async function baseline({ caughtBy, dialect }: Mutation): Promise<string | undefined> {
  const key = JSON.stringify([caughtBy, dialect]);
  if (!baselines.has(key)) {
    const { held, broken, output } = await runCatcher(caughtBy, dialect, copy.folder, server.url);
    if (broken !== undefined) console.log(output.slice(-2_000));
    baselines.set(key, broken ?? (held === 0 ? "it looks at nothing" : undefined));
  }
  return baselines.get(key);
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
  console.log(`\n${lines.length} mutations: ${count("caught")} caught, ${count("equivalent")} equivalent, ${count("SURVIVED")} survived, ${count("NO BASELINE")} without a baseline`);
}

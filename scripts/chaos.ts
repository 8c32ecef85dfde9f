// Many workers, everything that goes wrong, and the journals of the workers held against the tables at the end:
//
//   npm run chaos                        200,000 attempts, each fault three times
//   npm run chaos -- --long              1,000,000 attempts, each fault ten times
//   npm run chaos -- --short             what CI runs, about two minutes
//   npm run chaos -- --seed 7            the faults of an earlier run, in the same order
//   npm run chaos -- --arena SQLite --faults SIGKILL --attempts 5000     a part of it; all 5,000 go to the arenas named
//
// It fails when a promise was broken, and when it did not do what was planned: all the work, and each fault so many times while
// somebody was at work.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { temporaryFolder } from "../tests/support/temp.ts";
import type { Arena, ArenaSettings } from "../tests/chaos/arena.ts";
import { check } from "../tests/chaos/check.ts";
import { faultsOfNamespace, faultsOfPgBouncer, faultsOfPostgres, faultsOfSlowServers } from "../tests/chaos/faults_postgres.ts";
import { faultsOfFile, faultsOfFullDisk, faultsOfSealing, faultsOfSlowFile } from "../tests/chaos/faults_sqlite.ts";
import { readLedger } from "../tests/chaos/ledger.ts";
import { openPostgresArena } from "../tests/chaos/postgres_arena.ts";
import { seededRandom } from "../tests/chaos/random.ts";
import { report } from "../tests/chaos/report.ts";
import { isChosen, runArena } from "../tests/chaos/run_arena.ts";
import { openSqliteArena, openTinyDiskArena } from "../tests/chaos/sqlite_arena.ts";

const { values: options } = parseArgs({
  options: {
    long: { type: "boolean", default: false },
    short: { type: "boolean", default: false },
    seed: { type: "string" },
    attempts: { type: "string" },
    times: { type: "string" },
    arena: { type: "string", multiple: true, default: [] },
    faults: { type: "string", multiple: true, default: [] },
  },
});

const SIZES = { short: [12_000, 1], usual: [200_000, 3], long: [1_000_000, 10] } as const;
const STALE_AFTER_MS = 2_000;

/** What part of the attempts each arena gets: one file is written by one process at a time. */
const ARENAS: { name: string; share: number; faults: readonly string[]; open(settings: ArenaSettings): Promise<Arena | { why: string }> }[] = [
  { name: "Postgres", share: 0.8, faults: namesOf(faultsOfPostgres, faultsOfSlowServers, faultsOfPgBouncer, faultsOfNamespace), open: openPostgresArena },
  { name: "SQLite", share: 0.15, faults: namesOf(faultsOfFile, faultsOfSealing, faultsOfSlowFile), open: openSqliteArena },
  { name: "SQLite on a tiny disk", share: 0.05, faults: namesOf(faultsOfFullDisk), open: (settings) => openTinyDiskArena(settings, 64 + Math.ceil(wanted.attempts * 0.05 / 500)) },
];

if (process.platform !== "linux") throw new Error("The fault run needs Linux: signals, and programs of Debian");
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
const wanted = readWanted();
const { seed } = wanted;
const chosen = chooseArenas();
const shares = chosen.reduce((sum, { share }) => sum + share, 0);
const again = `--seed ${seed} --attempts ${wanted.attempts} --times ${wanted.times}${[...wanted.arenas.map((name) => ` --arena "${name}"`), ...wanted.faults.map((word) => ` --faults "${word}"`)].join("")}`;
console.log(`npm run chaos -- ${again}\n`);
let isGood = true;
for (const one of chosen) {
  const { text, isGood: good } = await runOne(one).catch((error) => ({ text: `== ${one.name}: ${error.stack}`, isGood: false }));
  console.log(`\n${text}\n`);
  isGood &&= good;
}
console.log(`${isGood ? "All promises were kept" : "NOT all promises were kept"}, after ${Math.round(performance.now() / 1_000)} s. Again with the same faults: npm run chaos -- ${again}`);
process.exit(isGood ? 0 : 1);

function readWanted() {
  const [attempts, times] = SIZES[options.long ? "long" : options.short ? "short" : "usual"];
  return {
    attempts: wholeNumber("attempts", options.attempts, 1) ?? attempts,
    times: wholeNumber("times", options.times, 1) ?? times,
    seed: wholeNumber("seed", options.seed, 0) ?? Math.floor(Math.random() * 2 ** 31),
    arenas: options.arena,
    faults: options.faults,
  };
}

function wholeNumber(name: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least || text.trim() === "") refuse(`--${name} ${text}: it takes a whole number, ${least} or more`);
  return value;
}

// Those asked for, and of those the ones where a fault asked for can happen.
function chooseArenas(): typeof ARENAS {
  for (const name of wanted.arenas) {
    if (!ARENAS.some((arena) => arena.name === name)) refuse(`There is no arena "${name}". There are:`, ARENAS.map((arena) => arena.name));
  }
  const arenas = ARENAS.filter(({ name }) => wanted.arenas.length === 0 || wanted.arenas.includes(name));
  const faults = [...new Set(arenas.flatMap((arena) => arena.faults))];
  for (const word of wanted.faults) {
    if (!faults.some((name) => name.includes(word))) refuse(`No fault has "${word}" in its name. There are:`, faults);
  }
  return arenas.filter((arena) => arena.faults.some((name) => isChosen(wanted, name)));
}

function refuse(text: string, names: readonly string[] = []): never {
  console.error([text, ...names.map((name) => `  ${name}`)].join("\n"));
  process.exit(2);
}

function namesOf(...faults: readonly object[]): string[] {
  return faults.flatMap((each) => Object.keys(each));
}

async function runOne({ name, share, open }: typeof ARENAS[number]): Promise<{ text: string; isGood: boolean }> {
  const start = performance.now();
  const folder = temporaryFolder("chaos");
  const settings = {
    seed, staleAfterMs: STALE_AFTER_MS, journals: join(folder, "journals"), allowance: join(folder, "allowance"), slowSign: join(folder, "slow"),
  };
  mkdirSync(settings.journals);
  const arena = await open(settings);
  // Where it was asked for by name, nothing would be done.
  if ("why" in arena) return { text: `== ${name}: LEFT OUT: ${arena.why}`, isGood: chosen.length > 1 };
  try {
    const say = (text: string) => console.log(`${String(Math.round(performance.now() / 1_000)).padStart(5)} s  ${name}: ${text}`);
    const plan = { ...wanted, attempts: Math.ceil(wanted.attempts * share / shares) };
    const course = await runArena(arena, settings, plan, seededRandom(seed), say);
    const ledger = await readLedger(settings.journals);
    const setting = { staleAfterMs: STALE_AFTER_MS, clockSteps: course.clockSteps, faults: course.occurrences.length };
    const checked = await check(ledger, arena.query, setting);
    return report(arena, plan, course, ledger, checked, STALE_AFTER_MS, (performance.now() - start) / 1_000);
  } finally {
    await arena.close();
  }
}

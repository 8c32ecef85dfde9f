// Many workers, everything that goes wrong, and the journals of the workers held against the tables at the end:
//
//   npm run chaos                        200,000 attempts
//   npm run chaos -- --long              1,000,000 attempts
//   npm run chaos -- --short             what CI runs, about two minutes
//   npm run chaos -- --seed 7            the faults of an earlier run, in the same order
//   npm run chaos -- --arena SQLite --faults SIGKILL --attempts 5000     a part of it
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { temporaryFolder } from "../tests/support/temp.ts";
import type { Arena, ArenaSettings } from "../tests/chaos/arena.ts";
import { check } from "../tests/chaos/check.ts";
import { readLedger } from "../tests/chaos/ledger.ts";
import { openPostgresArena } from "../tests/chaos/postgres_arena.ts";
import { seededRandom } from "../tests/chaos/random.ts";
import { report } from "../tests/chaos/report.ts";
import { runArena } from "../tests/chaos/run_arena.ts";
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

const SIZES = { short: [24_000, 1], usual: [200_000, 3], long: [1_000_000, 10] } as const;
const [attempts, times] = SIZES[options.long ? "long" : options.short ? "short" : "usual"];
const wanted = { attempts: Number(options.attempts ?? attempts), times: Number(options.times ?? times), faults: options.faults };
const seed = Number(options.seed ?? Math.floor(Math.random() * 2 ** 31));
const STALE_AFTER_MS = 2_000;

/** What part of the attempts each arena gets: one file is written by one process at a time. */
const ARENAS: { name: string; share: number; open(settings: ArenaSettings): Promise<Arena | { why: string }> }[] = [
  { name: "Postgres", share: 0.8, open: openPostgresArena },
  { name: "SQLite", share: 0.15, open: openSqliteArena },
  { name: "SQLite on a tiny disk", share: 0.05, open: (settings) => openTinyDiskArena(settings, 64 + Math.ceil(wanted.attempts * 0.05 / 500)) },
];

if (process.platform !== "linux") throw new Error("The fault run needs Linux: signals, and programs of Debian");
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
console.log(`npm run chaos -- --seed ${seed} --attempts ${wanted.attempts} --times ${wanted.times}\n`);
const texts: string[] = [];
let isGood = true;
for (const one of ARENAS.filter(({ name }) => options.arena.length === 0 || options.arena.includes(name))) {
  const { text, isGood: good } = await runOne(one).catch((error) => ({ text: `== ${one.name}: ${error.stack}`, isGood: false }));
  console.log(`\n${text}\n`);
  texts.push(text);
  isGood &&= good;
}
console.log(`${isGood ? "All promises were kept" : "NOT all promises were kept"}, after ${Math.round(performance.now() / 1_000)} s. Again with the same faults: --seed ${seed}`);
process.exit(isGood && texts.length > 0 ? 0 : 1);

async function runOne({ name, share, open }: typeof ARENAS[number]): Promise<{ text: string; isGood: boolean }> {
  const start = performance.now();
  const folder = temporaryFolder("chaos");
  const settings = { seed, staleAfterMs: STALE_AFTER_MS, journals: join(folder, "journals"), allowance: join(folder, "allowance") };
  mkdirSync(settings.journals);
  const arena = await open(settings);
  if ("why" in arena) return { text: `== ${name}: LEFT OUT: ${arena.why}`, isGood: true };
  try {
    const say = (text: string) => console.log(`${String(Math.round(performance.now() / 1_000)).padStart(5)} s  ${name}: ${text}`);
    const plan = { ...wanted, attempts: Math.ceil(wanted.attempts * share) };
    const course = await runArena(arena, settings, plan, seededRandom(seed), say);
    const ledger = await readLedger(settings.journals);
    const checked = await check(ledger, arena.query, STALE_AFTER_MS);
    return report(arena, course, ledger, checked, (performance.now() - start) / 1_000);
  } finally {
    await arena.close();
  }
}

// A work queue under hard conditions, and the proof that it keeps its promises:
//
//   npm run demo                     on a SQLite file
//   DATABASE_URL=… npm run demo      on Postgres, in a schema of its own
//   npm run demo -- --keep           leaves the tables and the journals to be looked at
import process from "node:process";
import { parseArgs } from "node:util";
import { type Database, openDatabase } from "./demo/database.ts";
import { makeWorkplace, type Workplace } from "./demo/folder.ts";
import { Interrupted, onInterrupt } from "./demo/interrupt.ts";
import { readJournals } from "./demo/journal.ts";
import { workerNames } from "./demo/names.ts";
import { printReport } from "./demo/print_report.ts";
import { examine, holds } from "./demo/report.ts";
import { ATTEMPTS, ROLES } from "./demo/roles.ts";
import { show } from "./demo/show.ts";

const { keep } = parseArgs({ options: { keep: { type: "boolean", default: false } } }).values;
if (process.platform === "win32") throw new Error("The demo stops a process with SIGSTOP, which Windows does not have");
const interrupted = onInterrupt();
const workplace = makeWorkplace();
if (!keep) process.once("exit", workplace.removeFolder);
introduce(workplace);
try {
  const good = await main(workplace);
  if (keep) sayWhereToLook(workplace);
  else sayWhatIsRemoved(workplace);
  process.exitCode = good ? 0 : 1;
} catch (error) {
  const early = error instanceof Interrupted;
  console.error("\n%s", early ? error.message : (error as Error).stack);
  process.exitCode = early ? error.exitCode : 1;
}

async function main(workplace: Workplace): Promise<boolean> {
  const database = await openDatabase(workplace.place);
  try {
    const missing = await show(workplace, database, interrupted);
    return await judge(workplace, database, missing);
  } finally {
    if (!keep) await database.drop();
    await database.close();
  }
}

function introduce({ title }: Workplace): void {
  console.log(`skiplocked on ${title}

${ATTEMPTS.toLocaleString("en")} attempts for ${ROLES.length} roles, 4 worker processes, and everything goes wrong: one worker is killed in mid-work,
one is stopped past its lease and wakes too late, and one attempt is poison and kills whoever takes it.
`);
}

async function judge({ journals }: Workplace, database: Database, missing: string[]): Promise<boolean> {
  const entries = readJournals(journals);
  const findings = await examine({ ...database, journals: entries, attempts: ATTEMPTS });
  printReport(findings, workerNames(entries));
  const good = holds(findings) && missing.length === 0;
  if (missing.length > 0) console.log(`\nThe time was over while the demo still waited for:\n${missing.map((what) => `- ${what}\n`).join("")}`);
  console.log(`\n${good ? "All of it holds" : "NOT all of it holds"}, after ${(performance.now() / 1000).toFixed(1)} s.`);
  return good;
}

function sayWhatIsRemoved({ folder, place, removeFolder }: Workplace): void {
  removeFolder();
  const removed = place.dialect === "sqlite" ? folder : `schema ${place.schema}, and the journals in ${folder}`;
  console.log(`Removed: ${removed}\nTo look around afterwards: npm run demo -- --keep`);
}

function sayWhereToLook({ folder, journals, place }: Workplace): void {
  const query = "select role, status, count(*) from workflow_attempts group by 1, 2";
  const [look, remove] = place.dialect === "sqlite"
    ? [`sqlite3 -box '${place.file}' '${query}'`, ""]
    : [
      `psql "$DATABASE_URL" -c 'set search_path to ${place.schema}' -c '${query}'`,
      `psql "$DATABASE_URL" -c 'drop schema ${place.schema} cascade' && `,
    ];
  console.log(`Kept. To look around:  ${look}\nThe journals:          ${journals}\nTo remove it:          ${remove}rm -r '${folder}'`);
}

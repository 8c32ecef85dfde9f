import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { XMLParser } from "fast-xml-parser";
import type { Runtime } from "../tests/support/runtimes.ts";
import { temporaryFolder } from "../tests/support/temp.ts";
import type { Counts } from "./test_tally.ts";

/** What one runtime made of one suite. */
export interface CellResult extends Counts {
  readonly seconds: number;
  /** What it printed, to be shown when something failed. */
  readonly output: string;
}

const TIMEOUT_MS = 10 * 60_000;
const reports = temporaryFolder("matrix");
let cells = 0;

/** Runs test files under a runtime, by its own test runner. */
export async function runCell(runtime: Runtime, files: readonly string[], env: Record<string, string>, signal?: AbortSignal): Promise<CellResult> {
  const report = join(reports, `${cells++}.xml`);
  const start = performance.now();
  const { code, output } = await execute(runtime.program, testArguments(runtime, report, files), env, signal);
  const counts = readReport(report, files);
  // A runner that fails without a failed test: it ended early, or what failed was no test.
  if (code !== 0 && counts.failed === 0) counts.failed = 1;
  return { ...counts, seconds: (performance.now() - start) / 1000, output };
}

function testArguments({ kind, version }: Runtime, report: string, files: readonly string[]): string[] {
  if (kind === "bun") return ["test", "--timeout", "120000", "--reporter=junit", `--reporter-outfile=${report}`, ...files];
  if (kind === "deno") return ["test", "-A", "--no-check", `--junit-path=${report}`, ...files];
  const reporters = ["--test-reporter=spec", "--test-reporter-destination=stdout", "--test-reporter=junit", `--test-reporter-destination=${report}`];
  const loader = Number(version.split(".")[0]) < 22 ? ["--import", import.meta.resolve("tsx")] : [];
  return [...loader, "--test", ...reporters, ...files];
}

function execute(program: string, args: string[], env: Record<string, string>, signal?: AbortSignal): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    // With NODE_TEST_CONTEXT a runner in a test speaks to the runner above, and runs nothing.
    const environment = { ...process.env, NODE_TEST_CONTEXT: undefined, NO_COLOR: "1", ...env };
    // A group of its own: the file that hangs is a child of the runner.
    const child = spawn(program, args, { env: environment, stdio: "pipe", detached: true });
    const kill = () => void process.kill(-Number(child.pid), "SIGKILL");
    const timer = setTimeout(kill, TIMEOUT_MS);
    signal?.addEventListener("abort", kill);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", kill);
      resolve({ code, output });
    });
  });
}

interface Case {
  name: string;
  failed: boolean;
  skipped: boolean;
}

function readReport(path: string, files: readonly string[]): Counts {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  // Node reports a file without tests as a test that passed.
  const tests = withoutSuites(casesOf(path)).filter(({ name, failed }) => failed || !files.some((file) => name.endsWith(file)));
  for (const { failed, skipped } of tests) counts[failed ? "failed" : skipped ? "skipped" : "passed"]++;
  rmSync(path, { force: true });
  return counts;
}

function casesOf(path: string): Case[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    // The runner never came to its end.
    return [];
  }
  const cases: Case[] = [];
  const visit = (node: unknown, tag: string) => {
    if (Array.isArray(node)) return node.forEach((each) => visit(each, tag));
    if (typeof node !== "object" || node === null) return;
    if (tag === "testcase") cases.push({ name: String((node as Record<string, unknown>)["@name"]), failed: "failure" in node || "error" in node, skipped: "skipped" in node });
    else for (const [child, value] of Object.entries(node)) visit(value, child);
  };
  visit(new XMLParser({ ignoreAttributes: false, attributeNamePrefix: "@", parseAttributeValue: false }).parse(text), "");
  return cases;
}

// Deno reports a suite as a test, whose own tests are called `suite > test`.
function withoutSuites(cases: Case[]): Case[] {
  const suites = new Set(cases.flatMap(({ name }) => name.includes(" > ") ? [name.slice(0, name.lastIndexOf(" > "))] : []));
  const fails = cases.some(({ name, failed }) => failed && !suites.has(name));
  return cases.filter(({ name, failed }) => !suites.has(name) || failed && !fails);
}

import process from "node:process";
import type { Stats } from "../../mod.ts";
import { ATTEMPTS, POISON_ROLE, ROLES } from "./roles.ts";
import { columnsOf, isTerminal, paint, type Part, startBlock } from "./terminal.ts";

const REDRAW_EVERY_MS = 120;
const PRINT_EVERY_MS = 500;
const EVENTS = 18;
const WIDEST_BAR = 40;

/** Shows how the work goes on while it does. */
export interface Progress {
  /** Something worth a line of its own. */
  say(...parts: Part[]): void;
  stop(): Promise<void>;
}

/** @param stats How the queue stands, asked again for every picture. */
export function startProgress(stats: () => Promise<Stats>): Progress {
  const stream = process.stdout;
  const seconds = stopwatch();
  return isTerminal(stream) ? drawn(stats, seconds) : printed(stats, seconds);
}

function drawn(stats: () => Promise<Stats>, seconds: () => string): Progress {
  const stream = process.stdout;
  const block = startBlock(stream);
  const events: Part[][] = [];
  const draw = async () => {
    const lines = picture(await stats(), seconds(), columnsOf(stream));
    // The block must not be higher than the terminal, else its top scrolls away and stays.
    const room = Math.min(EVENTS, (stream.rows || 24) - lines.length - 2);
    block.draw([...lines, [], ...(room > 0 ? events.slice(-room) : [])]);
  };
  const timer = repeat(draw, REDRAW_EVERY_MS);
  return {
    say: (...parts) => void events.push([["dim", seconds()], "  ", ...parts]),
    async stop() {
      await timer.stop();
      await draw().catch(() => {});
      block.end();
    },
  };
}

function printed(stats: () => Promise<Stats>, seconds: () => string): Progress {
  const print = async () => console.log(`${seconds()}  ${summary(await stats())}`);
  const timer = repeat(print, PRINT_EVERY_MS);
  return {
    say: (...parts) => console.log(`${seconds()}  * ${paint(parts, false)}`),
    async stop() {
      await timer.stop();
      await print().catch(() => {});
    },
  };
}

function picture(stats: Stats, seconds: string, columns: number): Part[][] {
  const width = Math.max(0, Math.min(WIDEST_BAR, columns - 42));
  const bars = [...ROLES, POISON_ROLE].map((role): Part[] => {
    const counts = countsOf(stats, role);
    const style = role === POISON_ROLE ? "red" : "green";
    return [role.padEnd(9), ...bar(counts, width, style), ` ${counts.done}/${counts.total}`.padStart(9), ...remarks(counts, stats)];
  });
  const done = stats.roles.reduce((sum, { succeeded }) => sum + succeeded, 0);
  return [[], [["dim", seconds], "  ", ["bold", `${done.toLocaleString("en")} of ${ATTEMPTS.toLocaleString("en")} attempts succeeded`]], [], ...bars];
}

interface Counts {
  done: number;
  held: number;
  failed: number;
  total: number;
}

function countsOf({ roles }: Stats, role: string): Counts {
  const row = roles.find((each) => each.role === role);
  if (row === undefined) return { done: 0, held: 0, failed: 0, total: 0 };
  const { pending, scheduled, inProgress: held, succeeded: done, failed } = row;
  return { done, held, failed, total: pending + scheduled + held + done + failed };
}

function bar({ done, held, failed, total }: Counts, width: number, style: "red" | "green"): Part[] {
  const cells = (count: number) => total === 0 ? 0 : Math.round(width * count / total);
  const full = cells(done + failed);
  const busy = cells(done + failed + held) - full;
  return [[style, "█".repeat(full)], ["yellow", "▒".repeat(busy)], ["dim", "░".repeat(width - full - busy)]];
}

function remarks({ held, failed }: Counts, { stuck }: Stats): Part[] {
  if (failed > 0) return ["  ", ["red", stuck > 0 ? "STUCK" : `${failed} failed`]];
  return held > 0 ? [["dim", `  ${held} in progress`]] : [];
}

function summary(stats: Stats): string {
  const roles = ROLES.map((role) => {
    const { done, total } = countsOf(stats, role);
    return `${role} ${done}/${total}`;
  });
  const held = stats.roles.reduce((sum, { inProgress }) => sum + inProgress, 0);
  return `${roles.join(" · ")} · ${held} in progress · ${stats.stuck} stuck`;
}

function stopwatch(): () => string {
  const start = performance.now();
  return () => `${((performance.now() - start) / 1000).toFixed(1)} s`.padStart(6);
}

// One after the other. What goes wrong in one round is left to the next; the demo itself notices a broken database.
function repeat(action: () => Promise<void>, everyMs: number): { stop(): Promise<void> } {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => running ??= action().catch(() => {}).then(() => running = undefined), everyMs);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

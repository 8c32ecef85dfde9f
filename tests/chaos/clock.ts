import process from "node:process";

/** A moment in which the time of this machine was set: forward if `ms` is positive. */
export interface Step {
  from: number;
  to: number;
  ms: number;
}

const LOOK_MS = 100;
// Of what two readings one after the other may differ.
const NOISE_MS = 5;

/** Milliseconds on the clock that all processes of this machine share, which no setting of the time moves. */
export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** Watches the time of this machine, by which the databases go, against the clock of the journals. */
export function watchClock(): { steps: readonly Step[]; stop(): void } {
  const steps: Step[] = [];
  let last = reading();
  const timer = setInterval(() => {
    const next = reading();
    if (Math.abs(next.offset - last.offset) > NOISE_MS) steps.push({ from: last.at, to: next.at, ms: next.offset - last.offset });
    last = next;
  }, LOOK_MS);
  timer.unref();
  return { steps, stop: () => clearInterval(timer) };
}

/** By how much the machine's time was set forward between two moments, at the most. */
export function forwardBetween(steps: readonly Step[], from: number, to: number): number {
  return steps.reduce((sum, step) => step.ms > 0 && step.from <= to && step.to >= from ? sum + step.ms : sum, 0);
}

// Both clocks at one moment: not before and after this process had to wait for its turn.
function reading(): { at: number; offset: number } {
  for (;;) {
    const before = now();
    const wall = Date.now();
    const after = now();
    if (after - before < 1) return { at: before, offset: wall - before };
  }
}

import process from "node:process";

/** Milliseconds on the clock that all processes of this machine share, which no setting of the time moves. */
export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

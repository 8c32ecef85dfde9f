import type { Crew, Slot } from "./crew.ts";
import type { Random } from "./random.ts";

/** What goes wrong, once: resolves when the cause is over, not when everybody has recovered. */
export interface Fault {
  readonly name: string;
  /** @returns How many processes, connections or calls it laid its hands on; with none it did not happen. */
  run(crew: Crew, random: Random): Promise<number>;
}

/** Faults by their names, each to be had with what it lays its hands on. */
export type Faults<Handles> = Readonly<Record<string, (handles: Handles) => Fault["run"]>>;

export function faultsWith<Handles>(faults: Faults<Handles>, handles: Handles): Fault[] {
  return Object.entries(faults).map(([name, of]) => ({ name, run: of(handles) }));
}

/** The names of faults that cannot be had, and why not. */
export function leftOut(faults: Faults<never>, handle: object): Arena["omitted"] {
  return "why" in handle ? Object.keys(faults).map((name) => ({ name, why: String(handle.why) })) : [];
}

/** A database with everybody who works on it, and what can happen to them. */
export interface Arena {
  readonly name: string;
  readonly slots: readonly Slot[];
  readonly faults: readonly Fault[];
  /** Faults that cannot be had on this machine, and why. */
  readonly omitted: readonly { name: string; why: string }[];
  migrate(): Promise<void>;
  /** SQL past the library; fails while the database is away. */
  query(sql: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** What an arena is made with. */
export interface ArenaSettings {
  seed: number;
  staleAfterMs: number;
  /** Where the journals go. */
  journals: string;
  /** Holds the number up to which producers may enqueue. */
  allowance: string;
  /** While this file is there slow work takes its time. */
  slowSign: string;
}

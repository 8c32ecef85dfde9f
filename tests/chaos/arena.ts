import type { Crew, Slot } from "./crew.ts";
import type { Random } from "./random.ts";

/** What goes wrong, once: resolves when the cause is over, not when everybody has recovered. */
export interface Fault {
  readonly name: string;
  run(crew: Crew, random: Random): Promise<void>;
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
}

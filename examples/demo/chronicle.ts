import type { Entry } from "./journal.ts";

/** Everything that the parent has heard of so far, and who waits for what of it. */
export interface Chronicle {
  readonly entries: readonly Entry[];
  record(entry: Entry): void;
  /** Resolves as soon as `found` is true of the entries; `what` names it for a person, should it never be. */
  until(what: string, found: () => boolean): Promise<void>;
  /** What is still being waited for. */
  awaited(): string[];
  onEntry(listener: (entry: Entry) => void): void;
}

export function startChronicle(): Chronicle {
  const entries: Entry[] = [];
  const listeners: ((entry: Entry) => void)[] = [];
  const waiting = new Set<{ what: string; found: () => boolean; resolve: () => void }>();

  function settle(): void {
    for (const one of waiting) {
      if (!one.found()) continue;
      waiting.delete(one);
      one.resolve();
    }
  }

  return {
    entries,
    record(entry) {
      entries.push(entry);
      for (const listener of listeners) listener(entry);
      settle();
    },
    until: (what, found) =>
      new Promise((resolve) => {
        waiting.add({ what, found, resolve });
        settle();
      }),
    awaited: () => [...waiting].map(({ what }) => what),
    onEntry: (listener) => void listeners.push(listener),
  };
}

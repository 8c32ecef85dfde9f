/** Runs work that is meant for one object one after the other. */
export type Exclusively = <T>(of: object, work: () => Promise<T>) => Promise<T>;

/**
 * Each has queues of its own: what runs in one may wait for another, but not for itself.
 *
 * @param key Under which the queues are shared with other copies of this package in the process.
 */
export function exclusive(key: symbol): Exclusively {
  const shared = globalThis as { [key: symbol]: WeakMap<object, Promise<unknown>> };
  const last = shared[key] ??= new WeakMap();
  return (of, work) => {
    const done = (last.get(of) ?? Promise.resolve()).then(work);
    last.set(of, done.catch(() => {}));
    return done;
  };
}

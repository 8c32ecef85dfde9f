/** Runs work that is meant for one object one after the other. */
export type Exclusively = <T>(of: object, work: () => Promise<T>) => Promise<T>;

/** Each has queues of its own: what runs in one may wait for another, but not for itself. */
export function exclusive(): Exclusively {
  const last = new WeakMap<object, Promise<unknown>>();
  return (of, work) => {
    const done = (last.get(of) ?? Promise.resolve()).then(work);
    last.set(of, done.catch(() => {}));
    return done;
  };
}

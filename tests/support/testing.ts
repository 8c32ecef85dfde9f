import { after, test as testOfNode } from "node:test";

type Work = () => unknown;

// Of the test that runs now; null between tests and in those of node:test itself.
let atItsEnd: Work[] | null = null;

/** `test` of node:test whose clean-up comes with its end: under Deno `after` and `t.after` wait for that of the whole suite. */
export function test(name: string, options: { timeout?: number }, work: () => unknown): void;
export function test(name: string, work: () => unknown): void;
export function test(name: string, ...rest: [Work] | [{ timeout?: number }, Work]): void {
  const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest;
  void testOfNode(name, options, async () => {
    const all: Work[] = atItsEnd = [];
    try {
      await work();
    } finally {
      atItsEnd = null;
      for (const each of all.reverse()) await each();
    }
  });
}

/** Does something when the test that runs now has ended, whatever came of it; last in, first out. */
export function atEnd(work: Work): void {
  if (atItsEnd === null) after(work as () => Promise<void>);
  else atItsEnd.push(work);
}

import { after, test as testOfNode, type TestOptions } from "node:test";

type Work = () => unknown;

// Of the test that runs now; null between tests and in those of node:test itself.
let atItsEnd: Work[] | null = null;

/**
 * `test` of node:test whose clean-up comes with its end. An `after` in a test does not: under Deno it waits for the end of the
 * suite, and under Node, after an `await` of what another test began, it belongs to that other one and never comes.
 */
export function test(name: string, options: TestOptions, work: Work): void;
export function test(name: string, work: Work): void;
export function test(name: string, ...rest: [Work] | [TestOptions, Work]): void {
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

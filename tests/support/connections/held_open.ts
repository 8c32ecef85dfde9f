/** A transaction that stays open. */
export interface HeldOpen<Transaction> {
  readonly transaction: Transaction;
  /** Commits it. */
  end(): Promise<void>;
}

/** Begins a transaction of a driver that ends its own when a callback does, and keeps it open. */
export async function heldOpen<Transaction>(
  begin: (work: (transaction: Transaction) => Promise<void>) => PromiseLike<unknown>,
): Promise<HeldOpen<Transaction>> {
  let end = () => {};
  const ended = new Promise<void>((resolve) => end = resolve);
  let done: PromiseLike<unknown> = ended;
  const transaction = await new Promise<Transaction>((resolve, reject) => {
    done = begin((inside) => (resolve(inside), ended)).then(undefined, reject);
  });
  return {
    transaction,
    async end() {
      end();
      await done;
    },
  };
}

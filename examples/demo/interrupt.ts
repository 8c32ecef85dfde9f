import process from "node:process";

/** Somebody wants the program to end before its time. */
export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(why: string, exitCode: number) {
    super(why);
    this.exitCode = exitCode;
  }
}

const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

/** Rejects with {@linkcode Interrupted}; the second time the process ends at once. */
export function onInterrupt(): Promise<never> {
  const interrupted = new Promise<never>((_, reject) => {
    for (const [signal, code] of Object.entries(EXIT_CODES)) {
      process.once(signal, () => {
        reject(new Interrupted(`interrupted by ${signal}`, code));
        process.once(signal, () => process.exit(code));
      });
    }
    // Say, in `npm run demo | head`.
    process.stdout.on("error", () => reject(new Interrupted("nobody reads the output any more", 1)));
  });
  interrupted.catch(() => {});
  return interrupted;
}

/** Makes this process believe in another time, as if the clock of its machine were wrong. */
export function skewClock(byMs: number): void {
  const Right = Date;
  const Wrong = class extends Right {
    constructor(...args: unknown[]) {
      super(...(args.length === 0 ? [Wrong.now()] : args) as [number]);
    }

    static override now(): number {
      return Right.now() + byMs;
    }
  };
  globalThis.Date = Wrong as DateConstructor;
}

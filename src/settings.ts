/** What {@linkcode createQueue} was told, or the defaults. */
export interface Settings {
  readonly instanceId: string;
  readonly maxPickups: number;
  readonly staleAfterMs: number;
}

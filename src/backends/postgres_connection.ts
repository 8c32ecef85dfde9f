/**
 * Postgres as the backend needs it, whichever driver there is. A driver is one file that tells its connections by their
 * shape and adapts them to this.
 *
 * @module
 */

/** One connection, or a pool: each call may be another connection of it. */
export interface PostgresSession {
  /**
   * Runs one statement.
   *
   * @param params Each is sent as text.
   * @param prepare Whether it runs often enough to be planned once for a connection, where the driver can and may.
   * @returns Rows by place, every cell as the text that the server sent: no parser and no transform of the caller's sees them.
   */
  query(text: string, params: readonly (string | null)[], prepare: boolean): Promise<unknown[][]>;
  /** Runs a text of several statements. */
  script(text: string): Promise<void>;
}

/** An open connection of the caller's. */
export interface PostgresConnection extends PostgresSession {
  /** What the caller gave: all queues on it have it in common. */
  readonly of: object;
  /** Runs `work` in a transaction of its own; null if this is a transaction of the caller's. */
  readonly begin: Begin | null;
  /** Whether an error ended a transaction of the caller's, which only the caller can repeat. For drivers that join one unasked. */
  isFinal?(error: unknown): boolean;
}

/** Commits when `work` is done, rolls back when it throws. */
export type Begin = <T>(work: (session: PostgresSession) => Promise<T>) => Promise<T>;

/** Several statements need to see what was committed between them. The role's default may be another level. */
export const ISOLATION = "isolation level read committed";

/** An identifier in double quotes. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

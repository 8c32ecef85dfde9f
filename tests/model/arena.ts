import assert from "node:assert/strict";
import process from "node:process";
import postgres from "postgres";
import { createQueue, type Queue } from "../../mod.ts";
import { openSqlite } from "../../src/sqlite.ts";
import type { BackendUnderTest, Opened } from "../support/backends.ts";
import { atEnd } from "../support/testing.ts";

// A hundred rounds or more where they are quick; a slow machine plays fewer. RACES=10 plays ten times as many.
const ROUNDS = { postgres: 150, sqlite: 100 };
const ROUNDS_MS = 1_500;
/** How much more to play than usual. */
export const TIMES: number = Number(process.env.RACES ?? 1);

/** Queues on the same tables, each with a connection of its own. */
export interface Arena {
  readonly opened: Opened;
  readonly queues: Queue[];
  close(): Promise<void>;
}

export async function open(backend: BackendUnderTest, contenders: number, connection: Record<string, string> = {}): Promise<Arena> {
  const opened = await backend.open();
  await opened.queue().migrate();
  const places = await Promise.all(Array.from({ length: contenders }, () => connect(opened, connection)));
  let closed: Promise<unknown> | undefined;
  const close = async () => void await (closed ??= Promise.all(places.map((place) => place.close())));
  // What stays open after a failure would keep the process from ending.
  atEnd(close);
  return { opened, queues: places.map(({ queue }) => queue), close };
}

async function connect({ address, schema }: Opened, connection: Record<string, string>): Promise<{ queue: Queue; close(): unknown }> {
  if (schema === undefined) {
    const db = await openSqlite(String(address), { synchronous: "NORMAL" });
    return { queue: createQueue(db), close: () => db.close() };
  }
  const sql = postgres(String(address), { max: 1, connection });
  return { queue: createQueue(sql, { schema }), close: () => sql.end({ timeout: 5 }) };
}

/** Plays one race again and again, each time under a role of its own. */
export async function rounds(
  backend: BackendUnderTest,
  play: (arena: Arena, role: string, round: number) => Promise<void>,
  { atMost = Infinity }: { atMost?: number } = {},
): Promise<void> {
  const arena = await open(backend, 6);
  const deadline = Date.now() + ROUNDS_MS * TIMES;
  for (let round = 0; round < Math.min(atMost, ROUNDS[backend.dialect]) * TIMES && Date.now() < deadline; round++) {
    await play(arena, `role-${round}`, round);
  }
  await arena.close();
}

export interface Result<T> {
  value?: T;
  code?: string;
}

/** Lets all go at the same moment, in any order, or a fraction of a millisecond apart; results in the order given. */
export async function race<A, B>(a: () => Promise<A>, b: () => Promise<B>): Promise<[Result<A>, Result<B>]>;
export async function race<T>(...contenders: (() => Promise<T>)[]): Promise<Result<T>[]>;
export async function race(...contenders: (() => Promise<unknown>)[]): Promise<Result<unknown>[]> {
  const running: Promise<Result<unknown>>[] = [];
  for (const place of shuffled(contenders.length)) {
    const until = performance.now() + (Math.random() < 0.5 ? 0 : Math.random() * 0.8);
    while (performance.now() < until);
    running[place] = contenders[place]!().then((value) => ({ value }), (error) => ({ code: String(error.code ?? error) }));
  }
  return await Promise.all(running);
}

function shuffled(length: number): number[] {
  return Array.from({ length }, (_, place) => ({ place, key: Math.random() })).sort((a, b) => a.key - b.key).map(({ place }) => place);
}

export function valueOf<T>({ value, code }: Result<T>): T {
  assert.equal(code, undefined);
  return value as T;
}

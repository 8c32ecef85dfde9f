// What the scripts here have in common: a queue of their own, a starting signal, and a voice.
import { existsSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { createQueue, type Queue } from "../../mod.ts";
import { openSqlite } from "../../src/sqlite.ts";

/** The one argument of a script, as JSON. */
export interface WorkerArguments {
  /** The url of the server or the path of the file. */
  address: string;
  /** On Postgres. */
  schema?: string | undefined;
  instanceId?: string;
  /** The file whose appearance says go. */
  signal?: string;
  roles?: string[];
  /** How many to claim at once; without it one by one. */
  limit?: number;
  /** Where to write down what was done, line by line. */
  journal?: string;
}

export const args: WorkerArguments = JSON.parse(process.argv[2] ?? "{}");

/** Opens the database of the arguments; its connections end with the process. */
export async function connect(): Promise<Queue> {
  const options = args.instanceId === undefined ? {} : { instanceId: args.instanceId };
  if (args.schema === undefined) return createQueue(await openSqlite(args.address, { synchronous: "NORMAL" }), options);
  return createQueue(postgres(args.address, { max: 1 }), { ...options, schema: args.schema });
}

export function tell(type: string, more: object = {}): void {
  console.log(JSON.stringify({ type, ...more }));
}

export async function signalled(): Promise<void> {
  while (!existsSync(args.signal!)) await sleep(2);
}

/** What an operation came to: its answer, or the code of its error. */
export function attempt(operation: Promise<unknown>): Promise<unknown> {
  return operation.then((answer) => answer ?? "done", (error) => error.code ?? String(error));
}

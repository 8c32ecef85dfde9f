// No SQL is built from input: its texts are the same whatever is given, and what is given is stored as it is.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { after, describe, test } from "node:test";
import pg from "pg";
import postgres from "postgres";
import { type Claim, type Connection, createQueue, type Lease, type NewWork, type Queue } from "../mod.ts";
import { openSqlite } from "../src/sqlite.ts";
import { temporaryFolder } from "./support/temp.ts";

const TEXTS = [
  ...["'", "''", '"', "`", "\\", "\\'", "\\' OR 1=1 --", "'; drop table workflows; --", '"; drop table workflows; --', "$$; drop table workflows; $$"],
  ...["$1", "$2", ":roles", ":name", "?", "?1", "@a", "%s", "%I", "${x}", "/* ", "*/", "--", "E'\\''", "U&'\\0027'", "\\x00", "{}", "[]", "null"],
  ...["')) union all select 'x", "\n;\n", "\r\n", "\u2028", "\uff07", "\u02bc", "ʼ; --", "'\u0001", "'||(select 1)||'", "\\.", "\\copy", "\u001a", "1; select pg_sleep(9)"],
];

describe("injection", () => {
  test("SQLite: the texts of the SQL are the same for hostile and for plain text, which is stored as it is", async () => {
    const db = await openSqlite(`${temporaryFolder()}/queue.db`, { synchronous: "NORMAL" });
    after(() => db.close());
    const seen = new Set<string>();
    // A new one each time: statements are prepared once for a handle.
    const recorder = () => ({
      prepare: (text: string) => (seen.add(text), db.prepare(text)),
      exec: (text: string) => (seen.add(text), db.exec(text)),
      get inTransaction() {
        return db.inTransaction;
      },
    }) as unknown as Connection;
    const rows = (text: string) => Promise.resolve(db.query(text).all() as Row[]);
    await compare(() => ({ connection: recorder(), seen, rows, migrate: createQueue(recorder()).migrate }));
  });

  test("Postgres: the texts of the SQL are the same for hostile and for plain text, which is stored as it is", { skip: !process.env["DATABASE_URL"] && "no DATABASE_URL" }, async () => {
    const url = String(process.env["DATABASE_URL"]);
    const schema = `injection '"\\;--$1:x ${randomUUID().slice(0, 8)}`;
    const eyes = postgres(url, { max: 1, onnotice() {} });
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    // Where a backslash in a literal is an escape, doubled quotes alone would be no defence.
    await client.query("set standard_conforming_strings = off; set backslash_quote = on; set escape_string_warning = off");
    const quoted = `"${schema.replaceAll('"', '""')}"`;
    after(async () => {
      await client.end();
      await eyes.unsafe(`drop schema if exists ${quoted} cascade`);
      await eyes.end();
    });
    const seen = new Set<string>();
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const record = (given: string | { text: string }, ...rest: unknown[]) => (seen.add(typeof given === "string" ? given : given.text), query(given, ...rest));
    client.query = record as unknown as typeof client.query;
    const rows = async (text: string) => [...(await eyes.unsafe(`set search_path = ${quoted}; ${text}`)).slice(1).flat()] as Row[];
    await compare(() => ({ connection: client, seen, rows, schema, migrate: createQueue(client, { schema }).migrate }));
  });
});

type Row = Record<string, unknown>;

interface Place {
  connection: Connection;
  seen: Set<string>;
  rows(text: string): Promise<Row[]>;
  schema?: string;
  migrate(): Promise<unknown>;
}

async function compare(place: () => Place): Promise<void> {
  const { seen, rows, migrate } = place();
  await migrate();
  const tables = await rows("select * from skiplocked_schema");
  await play(place(), "plain");
  seen.clear();
  await play(place(), "plain");
  const plain = [...seen].sort();
  assert.ok(plain.length >= 12);
  for (const text of TEXTS) {
    seen.clear();
    await play(place(), text);
    assert.deepEqual([...seen].sort(), plain, JSON.stringify(text));
  }
  assert.deepEqual(await rows("select * from skiplocked_schema"), tables);
}

/** Every operation, with the text wherever an operation takes one. */
async function play({ connection, rows, schema }: Place, text: string): Promise<void> {
  const queue = createQueue(connection, { instanceId: text, ...(schema !== undefined && { schema }) });
  await rows("delete from workflow_attempts where 1 = 1 returning 1");
  const payload = { [text]: text, nested: [text, { [text]: [text] }] };
  const { workflowId } = await queue.enqueue({ role: text, key: text, payload });
  assert.equal((await queue.enqueue([{ role: text, key: text }, { role: text, key: text }]))[1]?.created, false);
  await queue.enqueue({ role: text, workflowId, payload: text });
  const claim = await queue.dequeue({ roles: [text, `${text}!`] }) as Claim;
  assert.deepEqual([claim.role, claim.key, claim.payload, claim.instanceId], [text, text, payload, text]);
  assert.deepEqual(await queue.heartbeat([claim]), [{ held: true }]);
  await queue.complete(claim, { outcome: text, result: payload, next: [{ role: text, key: `${text}2`, payload }] });
  const [second, third] = await queue.dequeueMany({ roles: [text], limit: 5, instanceId: text });
  await queue.release(second!);
  await queue.fail(third!, { outcome: text, error: text, result: payload, retry: {} });
  const again = await queue.dequeue({ roles: [text] }) as Claim;
  await queue.fail(again, { error: new Error(text), outcome: "worker-internal-error" });
  const { requeued } = await queue.reap();
  assert.deepEqual(requeued.map(({ role, previousInstanceId }) => [role, previousInstanceId]), [[text, text]]);
  assert.deepEqual((await queue.stats()).roles.map(({ role }) => role), [text]);
  const stored = await rows("select role, key, outcome, locked_by_instance, cast(payload as text) as payload, cast(result as text) as result from workflow_attempts order by attempt_id");
  const [first] = stored;
  assert.deepEqual([first?.["role"], first?.["key"], first?.["outcome"], first?.["locked_by_instance"]], [text, text, text, text]);
  assert.deepEqual([JSON.parse(String(first?.["payload"])), JSON.parse(String(first?.["result"]))], [payload, payload]);
  await refuses(queue, text);
  await queue.cancel(workflowId).catch(() => {});
  await queue.prune({ olderThanMs: 0 });
}

/** Where a text makes no sense it is refused, also as an id or a time. */
async function refuses(queue: Queue, text: string): Promise<void> {
  const lease = { attemptId: text, instanceId: text, fencingToken: text } as Lease;
  const work = (more: object) => queue.enqueue({ role: "r", ...more } as NewWork);
  const refused = [
    queue.heartbeat(lease), queue.complete(lease), queue.fail(lease), queue.release(lease), queue.retry(text), queue.cancel(text),
    work({ workflowId: text }), work({ runAt: text }), work({ delayMs: text }), work({ tier: text }), work({ priority: text }), work({ [text]: 1 }),
    queue.reap({ staleAfterMs: text as never }), queue.prune({ olderThanMs: text as never }),
    queue.dequeueMany({ roles: ["r"], limit: text as never }), queue.dequeue({ roles: ["r"], maxPickups: text as never }),
  ];
  for (const each of refused) await assert.rejects(each, { code: "invalid_argument" });
}

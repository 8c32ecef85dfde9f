// PgBouncer itself in between, two connections to the server for the four of each suite.
import assert from "node:assert/strict";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import { runCell } from "../scripts/matrix_cell.ts";
import { findPgBouncer, type PgBouncer, startPgBouncer } from "./chaos/pgbouncer.ts";
import { type PostgresServer, startPostgres } from "./support/postgres_server.ts";
import { runtimes } from "./support/runtimes.ts";

const program = await findPgBouncer();
// On a machine of one's own it may be missing; CI has apt.
if ("why" in program && process.env["CI"]) throw new Error(program.why);

describe("PgBouncer · transaction mode", { skip: "why" in program && program.why }, () => {
  let server: PostgresServer;
  let pooler: PgBouncer;

  // A server of its own: it has to let everybody in.
  before(async () => {
    assert.ok(!("why" in program));
    server = await startPostgres();
    pooler = await startPgBouncer(program, Number(new URL(server.url).port));
  });
  after(async () => {
    await pooler?.stop();
    await server?.stop();
  });

  // By CONNECTIONS='["pg Pool"]' with others, one after the other.
  for (const connection of JSON.parse(process.env["CONNECTIONS"] ?? '["postgres.js, prepare: false"]') as string[]) {
    test(`the suite passes with ${connection}`, async () => {
      const env = { SKIPLOCKED_CONNECTION: connection, SKIPLOCKED_FEWER_RUNS: "3", DATABASE_URL: `postgres://postgres@127.0.0.1:${pooler.port}/postgres` };
      const { passed, failed, skipped, output } = await runCell(runtimes()[0]!, ["tests/conformance.test.ts"], env);
      assert.deepEqual([failed, skipped], [0, 0], output);
      assert.ok(passed > 300, `${passed} passed`);
    });
  }
});

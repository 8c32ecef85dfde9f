import assert from "node:assert/strict";
import { describe } from "node:test";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { type Fixture, fresh, HOUR, ids, range, runs } from "./support.ts";

const LIMIT = 1_000;
const SIGNS = ["lock_heartbeat_at", "locked_at", "started_at", "created_at"];

// Milliseconds around the border; the larger ones are for a machine that is slow.
const OFFSETS = range(runs(85)).map((n) => [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 10, 20, 40, 80, 300, 1_000][n % 17] as number);

/** The ways in which programs write an instant. */
const FORMS: Record<string, (ms: number) => string> = {
  "…T…Z": (ms) => new Date(ms).toISOString(),
  "a blank and Z": (ms) => new Date(ms).toISOString().replace("T", " "),
  "microseconds and an offset of nothing": (ms) => shifted(ms, 0, "+00:00"),
  "microseconds and an offset ahead": (ms) => shifted(ms, 330, "+05:30"),
  "microseconds and an offset behind": (ms) => shifted(ms, -480, "-08:00"),
};

/** Where no time zone is written it is UTC; Postgres would take the session's. */
const SQLITE_FORMS: typeof FORMS = {
  "as SQLite writes it": (ms) => new Date(ms).toISOString().replace("T", " ").replace("Z", ""),
  "as SQLite writes it, with microseconds": (ms) => new Date(ms).toISOString().replace("T", " ").replace("Z", "000"),
  "a T and no zone": (ms) => new Date(ms).toISOString().replace("Z", ""),
};

const UNREADABLE = ["''", "'now'", "'yesterday'", "'2024-13-45 99:00:00'", "'infinity'", "1700000000000", "'1700000000'", "x'ff'"];

export function reapTimes(backend: BackendUnderTest): void {
  const forms = { ...FORMS, ...(backend.dialect === "sqlite" ? SQLITE_FORMS : {}) };

  describe(`${backend.name} · reap times`, () => {
    for (const [name, form] of Object.entries(forms)) {
      test(`reap() takes a lease that is older than the limit by a millisecond and no younger one: ${name}`, async () => {
        const db = await fresh(backend);
        await db.add();
        let { attemptId } = await db.claim();
        const seen = { older: 0, younger: 0 };
        for (const offset of OFFSETS) {
          const beat = Math.round(await db.now()) - LIMIT + offset;
          await db.sql(`update workflow_attempts set pickup_count = 0, lock_heartbeat_at = '${form(beat)}'`);
          const before = await db.now();
          const { requeued } = await db.queue.reap({ staleAfterMs: LIMIT });
          const after = await db.now();
          if (after - beat <= LIMIT && ++seen.younger) assert.deepEqual(ids(requeued), []);
          if (before - beat > LIMIT && ++seen.older) assert.deepEqual(ids(requeued), [attemptId]);
          if (requeued.length > 0) ({ attemptId } = await db.claim());
        }
        assert.ok(seen.older > 2 && seen.younger > 2, JSON.stringify(seen));
      });

      test(`reap() makes an attempt pending when it is due and not a millisecond before: ${name}`, async () => {
        const db = await fresh(backend);
        const { attemptId } = await db.add({ delayMs: 0 });
        const seen = { due: 0, early: 0 };
        for (const offset of OFFSETS) {
          const runAt = Math.round(await db.now()) + offset;
          await db.sql(`update workflow_attempts set status = 'scheduled', run_at = '${form(runAt)}'`);
          const before = await db.now();
          await db.queue.reap();
          const after = await db.now();
          const { status } = await db.attempt(attemptId);
          if (before >= runAt && ++seen.due) assert.equal(status, "pending");
          if (after < runAt && ++seen.early) assert.equal(status, "scheduled");
        }
        assert.ok(seen.due > 2 && seen.early > 2, JSON.stringify(seen));
      });
    }

    for (const [place, sign] of SIGNS.entries()) {
      test(`reap() goes by ${sign} when there is no ${SIGNS.slice(0, place).join(", ") || "other sign of life"}`, async () => {
        const db = await fresh(backend);
        const absent = SIGNS.slice(0, place).map((earlier) => `${earlier} = null`);
        await goesBy(db, place, absent);
      });
    }

    if (backend.dialect === "sqlite") {
      test("reap() takes a time that cannot be read for absent", async () => {
        const db = await fresh(backend);
        for (const unreadable of UNREADABLE) {
          for (const place of [1, 2, 3]) {
            await goesBy(db, place, SIGNS.slice(0, place).map((earlier) => `${earlier} = ${unreadable}`), unreadable);
          }
        }
      });

      test("reap() takes a lease none of whose times can be read", async () => {
        const db = await fresh(backend);
        for (const unreadable of UNREADABLE) {
          const { attemptId } = await db.add();
          await db.claim();
          await db.sql(`update workflow_attempts set ${SIGNS.map((sign) => `${sign} = ${unreadable}`).join(", ")}`);
          assert.deepEqual(ids((await db.queue.reap({ staleAfterMs: HOUR })).requeued), [attemptId], unreadable);
          await db.sql("delete from workflow_attempts");
        }
      });

      test("reap() makes a scheduled attempt whose run_at cannot be read pending, as one without", async () => {
        const db = await fresh(backend);
        for (const unreadable of ["null", ...UNREADABLE]) {
          const { attemptId } = await db.add({ delayMs: HOUR });
          await db.sql(`update workflow_attempts set run_at = ${unreadable} where attempt_id = ${attemptId}`);
          await db.queue.reap();
          assert.equal((await db.attempt(attemptId)).status, "pending", unreadable);
        }
      });
    }

    test("a heartbeat in the future is no older than the limit", async () => {
      const db = await fresh(backend);
      await db.add();
      await db.claim();
      await db.sql(`update workflow_attempts set lock_heartbeat_at = ${db.instant(Date.UTC(2999, 0, 1))}`);
      assert.deepEqual(await db.unchangedBy(() => db.queue.reap({ staleAfterMs: 0 })), { requeued: [], stuck: [] });
    });

    test("reap() with staleAfterMs 0 takes a lease that was silent for a moment", async () => {
      const db = await fresh(backend);
      await db.add();
      const { attemptId } = await db.claim();
      await db.sql(`update workflow_attempts set lock_heartbeat_at = ${db.instant(await db.now() - 2)}`);
      assert.deepEqual(ids((await db.queue.reap({ staleAfterMs: 0 })).requeued), [attemptId]);
    });
  });
}

/** Claims, makes the earlier signs of life absent, and sees that the one at `place` decides, whatever the later ones say. */
async function goesBy(db: Fixture, place: number, absent: readonly string[], message?: string): Promise<void> {
  for (const stale of [false, true]) {
    const { attemptId } = await db.add();
    await db.claim();
    // The later signs say the opposite.
    const now = await db.now();
    const set = SIGNS.slice(place).map((sign, later) => `${sign} = ${db.instant(now - (stale === (later === 0) ? HOUR : 0))}`);
    await db.sql(`update workflow_attempts set ${[...absent, ...set].join(", ")} where attempt_id = ${attemptId}`);
    assert.deepEqual(ids((await db.queue.reap()).requeued), stale ? [attemptId] : [], message);
    await db.sql("delete from workflow_attempts");
  }
}

function shifted(ms: number, minutes: number, offset: string): string {
  return new Date(ms + minutes * 60_000).toISOString().replace("Z", `000${offset}`);
}

import assert from "node:assert/strict";
import { describe } from "node:test";
import type { BackendUnderTest } from "../support/backends.ts";
import { test } from "../support/testing.ts";
import { type Fixture, fresh } from "./support.ts";

class BuildError extends Error {
  override name = "BuildError";
}

function refusing(): never {
  throw new Error("do not look");
}

const cycle: Record<string, unknown> = {};
cycle["self"] = cycle;

const revoked = Proxy.revocable({}, {});
revoked.revoke();

/** What is thrown, and what its stored text must say. */
const THROWN: Record<string, [unknown, RegExp]> = {
  "an Error": [new Error("no space left"), /^Error: no space left/],
  "an Error of a class": [new BuildError("no space left"), /BuildError.*no space left/s],
  "an Error whose message was changed": [Object.assign(new Error("before"), { message: "afterwards" }), /afterwards/],
  "an Error without a stack": [Object.assign(new Error("bare"), { stack: undefined }), /Error: bare/],
  "an Error without a message": [new TypeError(), /TypeError/],
  "an AggregateError": [new AggregateError([new Error("one")], "several"), /several/],
  "an Error whose stack cannot be read": [Object.defineProperty(new Error("kept"), "stack", { get: refusing }), /kept/],
  "an object like an Error": [{ name: "Oops", message: "it broke" }, /Oops: it broke/],
  "a string": ["plain text", /^plain text$/],
  "an empty string": ["", /^$/],
  "a number": [404, /^404$/],
  "zero": [0, /^0$/],
  "NaN": [NaN, /^NaN$/],
  "a bigint": [12n, /^12n?$/],
  "false": [false, /^false$/],
  "a symbol": [Symbol("sign"), /sign/],
  "a function": [function thrown() {}, /thrown/],
  "an object": [{ code: 7 }, /code.*7/],
  "an array": [[1, "b"], /1.*b/],
  "an object without a prototype": [Object.assign(Object.create(null), { code: 7 }), /code.*7/],
  "an object with a cycle": [cycle, /./],
  "an object with a getter that throws": [Object.defineProperty({}, "message", { get: refusing, enumerable: true }), /./],
  "an object that refuses to be text": [{ toString: refusing, toJSON: refusing }, /./],
  "an object with a name that is a symbol": [{ name: Symbol("x"), message: "it broke" }, /./],
  "a revoked proxy": [revoked.proxy, /./],
  "text of other alphabets": ["Ошибка 失敗 😀", /^Ошибка 失敗 😀$/],
  "text with quotes": [`'"\\' -- \${x} $1 :a ?`, /^'"\\' -- \$\{x\} \$1 :a \?$/],
};

export function errorText(backend: BackendUnderTest): void {
  describe(`${backend.name} · error text`, () => {
    test("fail() stores the text of whatever was thrown", async () => {
      const db = await fresh(backend);
      const faults = [];
      for (const [name, [error, expected]] of Object.entries(THROWN)) {
        const text = await stored(db, error);
        if (typeof text !== "string" || !expected.test(text)) faults.push(`${name}: ${text}`);
      }
      assert.deepEqual(faults, []);
    });

    test("fail() stores null for undefined and null", async () => {
      const db = await fresh(backend);
      assert.deepEqual([await stored(db, undefined), await stored(db, null)], [null, null]);
    });

    test("fail() replaces NUL and lone surrogates, one by one", async () => {
      const db = await fresh(backend);
      const texts = ["a\0b", "\0\0", "a\ud800b", "\udc00", "\ud800\ud83d\ude00\udc00"];
      const expected = ["a\ufffdb", "\ufffd\ufffd", "a\ufffdb", "\ufffd", "\ufffd\ud83d\ude00\ufffd"];
      for (const [place, text] of texts.entries()) {
        assert.equal(await stored(db, text), expected[place]);
        assert.match(String(await stored(db, new Error(text))), new RegExp(`^Error: ${expected[place]}`));
        assert.doesNotMatch(String(await stored(db, { text })), /\0/);
      }
    });

    test("fail() bounds the text and keeps its beginning", async () => {
      const db = await fresh(backend);
      for (const filler of ["x", "😀", "a😀", "\0", "\ud800"]) {
        const text = `begins ${filler.repeat(1_000_000 / filler.length)}`;
        for (const error of [text, new Error(text), { text }]) {
          const kept = String(await stored(db, error));
          assert.ok(kept.length <= 10_000 && kept.length > 9_000 && kept.includes("begins "), `${kept.length}`);
          assert.ok(!/[\0\ud800-\udbff](?![\udc00-\udfff])/.test(kept));
        }
      }
    });
  });
}

async function stored(db: Fixture, error: unknown): Promise<string | null> {
  const { attemptId } = await db.add();
  await db.queue.fail(await db.claim(), { error });
  const { error: text, status } = await db.attempt(attemptId);
  assert.equal(status, "failed");
  return text;
}

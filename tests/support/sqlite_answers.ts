// Asks every driver of this runtime the same, and prints a line of JSON for each: its name, and the answers by call.
import { CALLS } from "./sqlite_calls.ts";
import { drivers } from "./sqlite_drivers.ts";
import { answerOf } from "./sqlite_json.ts";

if (new Set(CALLS.map(([name]) => name)).size < CALLS.length) throw new Error("Two calls have the same name");

for (const { name: driver, open } of drivers()) {
  const answers: Record<string, unknown> = {};
  for (const [name, call] of CALLS) {
    const db = await open(":memory:");
    db.run("create table t (id integer primary key, v); insert into t (v) values ('a'), (2), (null)");
    answers[name] = answerOf(() => call(db));
    db.close();
  }
  console.log(JSON.stringify({ driver, answers }));
}

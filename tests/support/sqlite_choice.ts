// Says what openSqlite() takes here, by what came of it, and how it set the file up.
import process from "node:process";
import { openSqlite } from "../../src/sqlite.ts";

const db = await openSqlite(String(process.argv[2]));
const pragma = (name: string) => db.query(`pragma ${name}`).values().flat()[0];
console.log(JSON.stringify({
  loaded: loaded(),
  settings: ["journal_mode", "synchronous", "foreign_keys", "busy_timeout"].map(pragma),
  version: db.query("select sqlite_version()").values().flat()[0],
}));
db.close();

function loaded(): string {
  if (db.constructor.name === "Database") return "bun:sqlite";
  try {
    return db.run("select nothing") && "no error";
  } catch (error) {
    // What node:sqlite adds to it.
    return "errstr" in (error as Error) ? "node:sqlite" : "better-sqlite3";
  }
}

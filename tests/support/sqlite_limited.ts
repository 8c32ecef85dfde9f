// What openSqlite() can do on Deno with the permission to read and write files and no other.
import process from "node:process";
import { openSqlite } from "../../src/sqlite.ts";
import { failureOf } from "./sqlite_json.ts";

const [path = ""] = process.argv.slice(2);
const attempt = (work: () => unknown) => Promise.resolve().then(work).then(() => "done", failureOf);

const missing = await attempt(() => openSqlite(path, { create: false }));
const db = await openSqlite(path);
db.run("create table t (v)");
const existing = await attempt(async () => (await openSqlite(path, { create: false })).run("insert into t values (1)"));
const readonly = await attempt(async () => (await openSqlite(path, { readonly: true })).query("select * from t").all());
const vacuum = await attempt(() => db.run("vacuum"));
const attach = await attempt(() => db.run("attach ':memory:' as a"));
console.log(JSON.stringify({ missing, existing, readonly, vacuum, attach }));
db.close();

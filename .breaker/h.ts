import postgres from "postgres";
import Database from "better-sqlite3";
export { createQueue } from "../mod.ts";
export { openSqlite } from "../src/sqlite.ts";
export { postgres, Database };
export const DB = process.env.BDB ?? "breaker_a";
export const pg = (o: any = {}) => postgres({ host: "127.0.0.1", port: 54999, user: "postgres", database: DB, onnotice: () => {}, ...o });
export const err = async (p: any) => { try { return await (typeof p === "function" ? p() : p); } catch (e: any) { return `ERR ${e.name} ${e.code} ${String(e.message).slice(0, 200)}`; } };
export const sleep = (ms: number) => new Promise((r) => setTimeout(r, ms));

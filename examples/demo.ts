// A queue under hard conditions, and the proof that it did what it promises:
//   npm run demo               on a SQLite file
//   DATABASE_URL=… npm run demo    on Postgres
//   npm run demo -- --keep     leaves the tables and journals for you to look at
import process from "node:process";
import { startChronicle } from "./demo/chronicle.ts";
import { startCrew } from "./demo/crew.ts";
import { openDatabase } from "./demo/database.ts";
import { holds } from "./demo/evidence.ts";

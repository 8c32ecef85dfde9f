// Makes the tables, at the same moment as its siblings.
import process from "node:process";
import { attempt, connect, signalled, tell } from "./worker.ts";

tell("ready");
await signalled();
tell("migrated", { answer: await attempt((await connect()).migrate()) });
process.exit();

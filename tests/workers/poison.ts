// Claims an attempt that is the end of it.
import process from "node:process";
import { args, connect, tell } from "./worker.ts";

const queue = await connect();
const claim = await queue.dequeue({ roles: args.roles ?? [] });
tell("answered", claim);
if (claim.acquired) process.kill(process.pid, "SIGKILL");
process.exit();

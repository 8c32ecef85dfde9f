// Loaded ahead of every worker. Its standard input is a pipe from the test process, which closes
// however that process ends; a worker left alone would hold its claims and connections for ever.
import process from "node:process";
import type { Socket } from "node:net";

const input = process.stdin as unknown as Socket;
input.on("close", () => process.kill(process.pid, "SIGKILL"));
input.resume();
input.unref();

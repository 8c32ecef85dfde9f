// A worker that starts a server and keeps it until something ends this process.
import { startPostgres } from "./postgres_server.ts";

const { url, pid, folder } = await startPostgres();
console.log(JSON.stringify({ type: "started", url, pid, folder }));
setInterval(() => {}, 60_000);

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A way to a server on which one packet can be held up. */
export interface StallingProxy {
  /** The server's address by this way. */
  readonly url: string;
  /** Holds up the next packet to the server that matches, and all after it, for so many milliseconds. */
  stallOnce(ms: number): void;
  close(): Promise<void>;
}

export async function stallingProxy(server: URL, pattern: RegExp): Promise<StallingProxy> {
  const sockets = new Set<Socket>();
  let stallMs = 0;
  const proxy = createServer((client) => {
    const upstream = connect(Number(server.port), server.hostname);
    let free: Promise<unknown> = Promise.resolve();
    client.on("data", (data) => {
      if (stallMs > 0 && pattern.test(data.toString("latin1"))) {
        const ms = stallMs;
        stallMs = 0;
        free = new Promise((resolve) => setTimeout(resolve, ms));
      }
      void free.then(() => upstream.write(data));
    });
    upstream.pipe(client);
    for (const [socket, other] of [[client, upstream], [upstream, client]] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => (sockets.delete(socket), other.destroy()));
    }
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const url = new URL(server);
  url.hostname = "127.0.0.1";
  url.port = String((proxy.address() as AddressInfo).port);
  return {
    url: url.href,
    stallOnce: (ms) => void (stallMs = ms),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await once(proxy, "close");
    },
  };
}

import { type TcpWay, tcpWay } from "./tcp_way.ts";

/** A way to a server on which one packet can be held up. */
export interface StallingProxy extends TcpWay {
  /** Holds up the next packet to the server that matches, and all after it, for so many milliseconds. */
  stallOnce(ms: number): void;
}

export async function stallingProxy(server: URL, pattern: RegExp): Promise<StallingProxy> {
  let stallMs = 0;
  const way = await tcpWay(server, (client, upstream) => {
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
      socket.on("error", () => other.destroy());
      socket.on("close", () => other.destroy());
    }
  });
  return { ...way, stallOnce: (ms) => void (stallMs = ms) };
}

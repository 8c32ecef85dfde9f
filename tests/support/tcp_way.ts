import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A way to a server that leads through this process. */
export interface TcpWay {
  /** The server's address by this way. */
  readonly url: string;
  close(): Promise<void>;
}

/** Listens on the loopback, opens a connection to the server for each that comes in, and has the two joined. */
export async function tcpWay(server: URL, join: (client: Socket, upstream: Socket) => void): Promise<TcpWay> {
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    const upstream = connect(Number(server.port || 5432), server.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    }
    join(client, upstream);
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = new URL(server);
  url.hostname = "127.0.0.1";
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.href,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, "close");
    },
  };
}

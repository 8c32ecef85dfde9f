import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";

type Direction = "up" | "down";

/** Stands between workers and a server, and does what networks do. */
export interface Proxy {
  readonly port: number;
  /** How many connections lead through it now. */
  connections(): number;
  /** Cuts every connection that is open now, and says how many those were. */
  drop(): number;
  /** Holds back what goes to the server (`up`) or comes from it (`down`) until `flow`. */
  stall(...directions: Direction[]): void;
  flow(): void;
  /** From now on lets requests through but keeps every answer, for so long; then cuts the connections where it kept one. */
  loseAnswers(ms: number): Promise<number>;
  /** Leads new connections there, and cuts those that lead elsewhere. */
  lead(port: number): void;
  close(): Promise<void>;
}

/** @param host Where it listens, another address when the workers are in a network of their own. */
export async function startProxy(target: number, host = "127.0.0.1"): Promise<Proxy> {
  const pairs = new Set<{ client: Socket; server: Socket; lossy: boolean; lost: boolean }>();
  const stalled = new Set<Direction>();
  let losing = false;

  const listener = createServer({ noDelay: true }, (client) => {
    const server = connect({ port: target, host: "127.0.0.1", noDelay: true });
    const pair = { client, server, lossy: false, lost: false };
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on("error", end).on("close", end);
    client.on("data", (data) => {
      pair.lossy ||= losing;
      server.write(data);
    });
    server.on("data", (data) => {
      // What was asked before is answered; the first request of the bad time never is.
      if (pair.lossy) pair.lost = true;
      else client.write(data);
    });
    apply(pair);
  });
  listener.listen(0, host);
  await once(listener, "listening");

  function apply({ client, server }: { client: Socket; server: Socket }): void {
    if (stalled.has("up")) client.pause();
    else client.resume();
    if (stalled.has("down")) server.pause();
    else server.resume();
  }

  function drop(): number {
    for (const pair of pairs) cut(pair);
    return pairs.size;
  }

  function cut({ client, server }: { client: Socket; server: Socket }): void {
    client.destroy();
    server.destroy();
  }

  return {
    port: (listener.address() as AddressInfo).port,
    connections: () => pairs.size,
    drop,
    stall(...directions) {
      directions.forEach((direction) => stalled.add(direction));
      pairs.forEach(apply);
    },
    flow() {
      stalled.clear();
      pairs.forEach(apply);
    },
    async loseAnswers(ms) {
      losing = true;
      await new Promise((resolve) => setTimeout(resolve, ms));
      losing = false;
      const lossy = [...pairs].filter((pair) => pair.lossy);
      lossy.forEach(cut);
      return lossy.filter(({ lost }) => lost).length;
    },
    lead(port) {
      target = port;
      drop();
    },
    async close() {
      drop();
      listener.close();
      await once(listener, "close");
    },
  };
}

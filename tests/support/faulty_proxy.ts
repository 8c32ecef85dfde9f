import { once } from "node:events";
import type { Socket } from "node:net";
import { type TcpWay, tcpWay } from "./tcp_way.ts";

/** From whom a message comes: who asks, or the server. */
export type Place = "request" | "answer";

/** A way to a server that fails at a message, counted from the call on. */
export interface FaultyProxy extends TcpWay {
  /** Ends the connection at that message. What was passed on before, the server may still do. */
  cut(place: Place, message: number): void;
  /** Passes on nothing from that message on, in either direction, and ends nothing: a network that is silent. Resolves when it is. */
  silence(place: Place, message: number): Promise<void>;
  /** Ends the connections of who asks, as TCP does in the end when nothing is answered. The server does not hear of it. */
  giveUp(): void;
  /** Whether nothing was cut or silenced; nothing will be. */
  spare(): boolean;
  /** What was held back from the server arrives there after all, whoever sent it is gone; then the connection ends. */
  deliver(): Promise<void>;
}

export async function faultyProxy(server: string): Promise<FaultyProxy> {
  let plan: { fault: "cut" | "silence"; place: Place; left: number; silent: () => void } | undefined;
  const held = new Map<Socket, Buffer[]>();
  const clients = new Set<Socket>();
  const way = await tcpWay(new URL(server), (client, upstream) => {
    const isSilent = () => held.has(upstream);
    const pass = (to: Socket, place: Place) => (data: Buffer) => {
      const strikes = plan?.place === place && --plan.left === 0;
      if (strikes && plan?.fault === "silence") {
        held.set(upstream, []);
        plan.silent();
        plan = undefined;
      } else if (strikes) {
        plan = undefined;
        client.destroy();
        return void upstream.end();
      }
      if (!isSilent()) to.write(data);
      else if (place === "request") held.get(upstream)!.push(data);
    };
    // Who is behind a silent network does not hear either that the other one is gone.
    client.on("data", pass(upstream, "request")).on("close", () => isSilent() || upstream.end()).on("error", () => {});
    upstream.on("data", pass(client, "answer")).on("close", () => client.destroy()).on("error", () => client.destroy());
    clients.add(client);
  });
  return {
    ...way,
    cut: (place, message) => void (plan = { fault: "cut", place, left: message, silent: () => {} }),
    silence: (place, message) => new Promise((silent) => void (plan = { fault: "silence", place, left: message, silent })),
    giveUp: () => clients.forEach((client) => client.resetAndDestroy()),
    spare: () => {
      const unused = plan !== undefined;
      plan = undefined;
      return unused;
    },
    deliver: async () => {
      for (const [upstream, data] of held) {
        for (const each of data.splice(0)) upstream.write(each);
        upstream.end();
        upstream.resume();
        if (!upstream.closed) await once(upstream, "close");
      }
    },
  };
}

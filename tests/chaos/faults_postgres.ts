import { setTimeout as sleep } from "node:timers/promises";
import type { Fault, Faults } from "./arena.ts";
import type { Cluster } from "./cluster.ts";
import { faultsOfProcesses } from "./faults_processes.ts";
import type { NetworkNamespace } from "./namespace.ts";
import type { PgBouncer } from "./pgbouncer.ts";
import type { Proxy } from "./proxy.ts";

/** What the faults of this arena lay their hands on. */
interface Handles {
  cluster: Cluster;
  /** Between some of the workers and the server. */
  proxy: Proxy;
  /** Leads everybody who does not find it alone to the new primary. */
  primaryMoved(): void;
  staleAfterMs: number;
}

export const faultsOfPostgres: Faults<Handles> = {
  ...faultsOfProcesses,
  "pg_terminate_backend of everything": ({ cluster }) => async (_, random) => {
    let ended = 0;
    for (let round = random.between(1, 4); round > 0; round--) {
      const rows = await cluster.query("select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()");
      ended += rows.length;
      await sleep(random.between(50, 400));
    }
    return ended;
  },
  "server stopped fast": ({ cluster }) => (_, random) => cluster.restart("fast", random.between(0, 2_000)),
  "server stopped immediately": ({ cluster }) => (_, random) => cluster.restart("immediate", random.between(0, 2_000)),
  "a server process killed": ({ cluster }) => () => cluster.killBackend(),
  "the sender to the standby stands still": ({ cluster }) => (_, random) => cluster.freezeSender(random.between(500, 3_000)),
  "primary stopped immediately, standby promoted": ({ cluster, primaryMoved }) => () => cluster.failOver("immediate stop", primaryMoved),
  "primary killed, standby promoted": ({ cluster, primaryMoved }) => () => cluster.failOver("SIGKILL", primaryMoved),
  "connections dropped": ({ proxy }) => async (_, random) => {
    let dropped = 0;
    for (let round = random.between(1, 5); round > 0; round--) {
      dropped += proxy.drop();
      await sleep(random.between(10, 300));
    }
    return dropped;
  },
  "requests stalled": stalled("up"),
  "answers stalled": stalled("down"),
  "both stalled": stalled("up", "down"),
  "cut after COMMIT was sent, before its answer": ({ proxy }) => async (_, random) => {
    let lost = 0;
    for (let round = random.between(2, 6); round > 0; round--) lost += await proxy.loseAnswers(random.between(5, 200));
    return lost;
  },
};

export const faultsOfSlowServers: Faults<{ cluster: Cluster }> = {
  "slow disk: every sync to disk takes 0.3 s": ({ cluster }) => (_, random) => cluster.slowDisk(random.between(2_000, 5_000)),
};

/** `follower` is the way from PgBouncer to the server. */
export const faultsOfPgBouncer: Faults<{ bouncer: PgBouncer; follower: Proxy }> = {
  "PgBouncer killed": ({ bouncer, follower }) => async (_, random) => {
    const served = follower.connections();
    await bouncer.restart(random.between(0, 1_000));
    return served;
  },
};

/** `cable` is the way from the network namespace to the server. */
export const faultsOfNamespace: Faults<{ namespace: NetworkNamespace; cable: Proxy; staleAfterMs: number }> = {
  "network namespace cut off": ({ namespace, cable, staleAfterMs }) => async (_, random) => {
    const connected = cable.connections();
    await namespace.plug(false);
    await sleep(staleAfterMs * (0.5 + 1.5 * random.next()));
    await namespace.plug(true);
    return connected;
  },
};

function stalled(...directions: Parameters<Proxy["stall"]>): (handles: Handles) => Fault["run"] {
  return ({ proxy, staleAfterMs }) => async (_, random) => {
    proxy.stall(...directions);
    await sleep(staleAfterMs * (0.3 + 1.5 * random.next()));
    const held = proxy.connections();
    // Some stalls end well, in others somebody loses patience.
    if (random.chance(0.5)) proxy.drop();
    proxy.flow();
    return held;
  };
}

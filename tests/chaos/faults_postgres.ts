import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "./arena.ts";
import type { Cluster } from "./cluster.ts";
import { faultsOfProcesses } from "./faults_processes.ts";
import type { NetworkNamespace } from "./namespace.ts";
import type { PgBouncer } from "./pgbouncer.ts";
import type { Proxy } from "./proxy.ts";

/** What the faults of this arena lay their hands on. */
export interface Handles {
  cluster: Cluster;
  /** Between some of the workers and the server. */
  proxy: Proxy;
  bouncer: PgBouncer | undefined;
  namespace: NetworkNamespace | undefined;
  /** Leads everybody who does not find it alone to the new primary. */
  primaryMoved(): void;
  staleAfterMs: number;
}

export function faultsOfPostgres(handles: Handles): Fault[] {
  const { bouncer, namespace, staleAfterMs } = handles;
  return [
    ...faultsOfProcesses(staleAfterMs),
    ...faultsOfServer(handles),
    ...faultsOfNetwork(handles),
    ...bouncer ? [{ name: "PgBouncer killed", run: (_, random) => bouncer.restart(random.between(0, 1_000)) } satisfies Fault] : [],
    ...namespace
      ? [{
        name: "network namespace cut off",
        async run(_, random) {
          await namespace.plug(false);
          await sleep(staleAfterMs * (0.5 + 1.5 * random.next()));
          await namespace.plug(true);
        },
      } satisfies Fault]
      : [],
  ];
}

function faultsOfServer({ cluster, primaryMoved }: Handles): Fault[] {
  return [
    {
      name: "pg_terminate_backend of everything",
      async run(_, random) {
        for (let round = random.between(1, 4); round > 0; round--) {
          await cluster.query("select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()");
          await sleep(random.between(50, 400));
        }
      },
    },
    { name: "server stopped fast", run: (_, random) => cluster.restart("fast", random.between(0, 2_000)) },
    { name: "server stopped immediately", run: (_, random) => cluster.restart("immediate", random.between(0, 2_000)) },
    { name: "a server process killed", run: () => cluster.killBackend() },
    { name: "the standby stands still (slow disk)", run: (_, random) => cluster.freezeStandby(random.between(500, 3_000)) },
    {
      name: "primary killed, standby promoted",
      run: () => cluster.failOver(primaryMoved),
    },
  ];
}

function faultsOfNetwork({ proxy, staleAfterMs }: Handles): Fault[] {
  const stall = (...directions: Parameters<Proxy["stall"]>): Fault["run"] => async (_, random) => {
    proxy.stall(...directions);
    await sleep(staleAfterMs * (0.3 + 1.5 * random.next()));
    // Some stalls end well, in others somebody loses patience.
    if (random.chance(0.5)) proxy.drop();
    proxy.flow();
  };
  return [
    {
      name: "connections dropped",
      async run(_, random) {
        for (let round = random.between(1, 5); round > 0; round--) {
          proxy.drop();
          await sleep(random.between(10, 300));
        }
      },
    },
    { name: "requests stalled", run: stall("up") },
    { name: "answers stalled", run: stall("down") },
    { name: "both stalled", run: stall("up", "down") },
    {
      name: "cut after COMMIT was sent, before its answer",
      async run(_, random) {
        for (let round = random.between(2, 6); round > 0; round--) await proxy.loseAnswers(random.between(5, 200));
      },
    },
  ];
}

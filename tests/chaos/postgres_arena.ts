import { join } from "node:path";
import postgres from "postgres";
import { createQueue } from "../../mod.ts";
import { type Arena, type ArenaSettings, faultsWith, leftOut } from "./arena.ts";
import { startCluster } from "./cluster.ts";
import type { Slot } from "./crew.ts";
import { faultsOfNamespace, faultsOfPgBouncer, faultsOfPostgres, faultsOfSlowServers } from "./faults_postgres.ts";
import { makeNamespace } from "./namespace.ts";
import { findPgBouncer, startPgBouncer } from "./pgbouncer.ts";
import type { Place } from "./place.ts";
import { startProxy } from "./proxy.ts";
import { makeSlowDisk } from "./slow_disk.ts";
import { KILLER_ROLE, ROLES } from "./work.ts";

const HOUR = 3_600_000;

type Way = Omit<Extract<Place, { dialect: "postgres" }>, "dialect">;

/** A primary and its standby, and workers that reach them by every way there is. */
export async function openPostgresArena(settings: ArenaSettings): Promise<Arena> {
  const { staleAfterMs } = settings;
  const disk = await makeSlowDisk();
  const cluster = await startCluster("why" in disk ? undefined : disk);
  const proxy = await startProxy(cluster.primaryPort());
  // PgBouncer knows one address: this proxy leads it to the server that is the primary, and does nothing else.
  const follower = await startProxy(cluster.primaryPort());
  const [namespace, program] = [await makeNamespace(), await findPgBouncer()];
  const cable = "why" in namespace ? undefined : await startProxy(cluster.primaryPort(), namespace.host);
  const bouncer = "why" in program ? undefined : await startPgBouncer(program, follower.port);
  const proxies = [proxy, follower, ...cable ? [cable] : []];

  const local = (...ports: readonly number[]) => ports.map((port) => ({ host: "127.0.0.1", port }));
  const both: Way = { addresses: local(...cluster.ports), driver: "postgres.js", poolSize: 4, prepare: true };
  const throughProxy: Way = { ...both, addresses: local(proxy.port) };
  const slots: Slot[] = [
    worker("direct", both, 20, HOUR),
    worker("direct one by one", both, 1),
    worker("pool of one", { ...both, poolSize: 1 }, 10),
    worker("proxy", throughProxy, 20, -HOUR),
    worker("proxy pg", { ...throughProxy, driver: "pg" }, 20),
    ...bouncer ? [worker("pgbouncer", { ...both, addresses: local(bouncer.port), prepare: false }, 20)] : [],
    ...cable && "host" in namespace
      ? [{ ...worker("namespace", { ...both, addresses: [{ host: namespace.host, port: cable.port }] }, 10), namespace: namespace.name }]
      : [],
    producer("producer", both, 0),
    producer("producer proxy", throughProxy, 1),
  ];

  function worker(via: string, way: Way, batch: number, skewMs = 0): Slot {
    const roles = batch === 1 ? [...ROLES, KILLER_ROLE] : ROLES;
    const args = { ...common(via, way), roles, batch, parallel: way.poolSize, reapEveryMs: staleAfterMs / 3, skewMs, fullSign: "", slowSign: settings.slowSign };
    return { name: via, script: "worker", args };
  }

  function producer(via: string, way: Way, share: number): Slot {
    return { name: via, script: "producer", args: { ...common(via, way), seed: settings.seed, share, of: 2, allowance: settings.allowance } };
  }

  function common(via: string, way: Way) {
    const journal = join(settings.journals, `${via.replaceAll(" ", "-")}.jsonl`);
    return { via, place: { dialect: "postgres", ...way }, journal, staleAfterMs };
  }

  const primaryMoved = () => proxies.forEach((each) => each.lead(cluster.primaryPort()));
  return {
    name: "Postgres",
    slots,
    faults: [
      ...faultsWith(faultsOfPostgres, { cluster, proxy, primaryMoved, staleAfterMs }),
      ..."why" in disk ? [] : faultsWith(faultsOfSlowServers, { cluster }),
      ...bouncer ? faultsWith(faultsOfPgBouncer, { bouncer, follower }) : [],
      ...cable && !("why" in namespace) ? faultsWith(faultsOfNamespace, { namespace, cable, staleAfterMs }) : [],
    ],
    omitted: [...leftOut(faultsOfSlowServers, disk), ...leftOut(faultsOfPgBouncer, program), ...leftOut(faultsOfNamespace, namespace)],
    async migrate() {
      const sql = postgres({ host: "127.0.0.1", port: cluster.primaryPort(), username: "postgres", database: "postgres", max: 1, onnotice: () => {} });
      await createQueue(sql).migrate();
      await sql.end();
    },
    query: cluster.query,
    async close() {
      await Promise.all(proxies.map((each) => each.close()));
      await bouncer?.stop();
      if (!("why" in namespace)) await namespace.remove();
      await cluster.stop();
    },
  };
}

import pg from "pg";
import postgres from "postgres";
import { createQueue, type Queue } from "../../mod.ts";
import { openSqlite } from "../../src/sqlite.ts";
import { MAX_PICKUPS, type Payload } from "./work.ts";

/** Where the tables are, and by which way a process comes there. */
export type Place =
  | { dialect: "sqlite"; file: string }
  | {
    dialect: "postgres";
    /** One server, or several of which one can be written to. */
    addresses: readonly { host: string; port: number }[];
    driver: "postgres.js" | "pg";
    poolSize: number;
    /** Off behind PgBouncer in transaction mode. */
    prepare: boolean;
  };

/** What runs its statements. */
export type Driver = "postgres.js" | "pg" | "openSqlite";

export type ChaosQueue = Queue<Record<string, Payload>>;

/** What a process works with. */
export interface Workplace {
  queue: ChaosQueue;
  /** SQLite: lets the file not grow any more, or grow again. */
  limitPages(limited: boolean): void;
}

export function driverOf(place: Place): Driver {
  return place.dialect === "sqlite" ? "openSqlite" : place.driver;
}

const CONNECT_SECONDS = 3;

/** Opens it; Postgres is not asked before the first call. */
export async function openPlace(place: Place, staleAfterMs: number): Promise<Workplace> {
  const options = { maxPickups: MAX_PICKUPS, staleAfterMs };
  if (place.dialect === "sqlite") {
    const db = await openSqlite(place.file);
    const limitPages = (limited: boolean) => db.run(`pragma max_page_count = ${limited ? 1 : 1_073_741_823}`);
    return { queue: createQueue(db, options), limitPages };
  }
  return { queue: createQueue(openDriver(place), options), limitPages: () => {} };
}

function openDriver({ addresses, driver, poolSize, prepare }: Extract<Place, { dialect: "postgres" }>) {
  if (driver === "pg") {
    const [{ host, port }] = addresses as [{ host: string; port: number }];
    const pool = new pg.Pool({ host, port, user: "postgres", database: "postgres", max: poolSize, connectionTimeoutMillis: CONNECT_SECONDS * 1_000 });
    // An idle connection that dies is an event, and one that nobody listens to ends the process.
    pool.on("error", () => {});
    return pool;
  }
  const hosts = addresses.map(({ host, port }) => `${host}:${port}`).join(",");
  return postgres(`postgres://postgres@${hosts}/postgres`, {
    // Not "read-write": to postgres.js a standby is that as well, and it would stay there.
    ...addresses.length > 1 && { target_session_attrs: "primary" as const },
    max: poolSize,
    prepare,
    // The queue reads text, and when this first query of a connection fails nobody can catch it: the process ends.
    fetch_types: false,
    connect_timeout: CONNECT_SECONDS,
    // As often as it takes: the default waits up to 20 seconds.
    backoff: () => 0.2,
    onnotice: () => {},
  });
}

import { connections } from "../tests/support/connections/table.ts";
import { embeddedPostgres } from "../tests/support/postgres_binaries.ts";
import { runtimePackage } from "../tests/support/runtimes.ts";

/** A row of the matrix: a suite on one connection. */
export interface Row {
  readonly table: string;
  readonly name: string;
  readonly files: readonly string[];
  readonly env: Record<string, string>;
  /** The folder of the server's programs, empty for the one of this machine; undefined if no server is needed. */
  readonly postgres?: string;
  /** Whether the number of its tests depends on the runtime. */
  readonly differs?: true;
  runsOn(runtime: string): boolean;
}

const OTHER_VERSIONS = ["postgres.js", "pg Pool"];

const ofConnections = connections.map(({ name, runsOn, needsServer, isOption }): Row => ({
  table: isOption ? "Options" : "Connections",
  name,
  files: ["tests/conformance.test.ts"],
  env: { SKIPLOCKED_CONNECTION: name, SKIPLOCKED_FEWER_RUNS: "3" },
  ...(needsServer && { postgres: "" }),
  runsOn,
}));

const ofVersions = [["14", `${runtimePackage("postgres-14")}/native/bin`], ["18", String(embeddedPostgres())]].flatMap(([version, postgres]) =>
  ofConnections.filter(({ name }) => OTHER_VERSIONS.includes(name)).map((row): Row => ({
    ...row,
    table: "Other versions of Postgres",
    name: `${row.name}, Postgres ${version}`,
    postgres: String(postgres),
    // What differs is the server's.
    runsOn: (runtime) => runtime === "Node 20",
  }))
);

const ofOpenSqlite: Row = {
  table: "Connections",
  name: "API of openSqlite",
  files: ["tests/open_sqlite.test.ts", "tests/sqlite_files.test.ts"],
  env: {},
  differs: true,
  runsOn: () => true,
};

export const rows: readonly Row[] = [...ofConnections, ofOpenSqlite, ...ofVersions];

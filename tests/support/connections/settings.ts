/** Something around the queue that is set otherwise than usual, and must change no answer. */
export interface Setting {
  /** Of the connection in the matrix. */
  readonly name: string;
  /** What the role that connects was given, by `alter role … set`. */
  readonly role?: Record<string, string>;
  /** Begins the names of schemas; a list names them, and the first of it begins the names of further ones. */
  readonly schema?: string | readonly string[];
  /** Of this process. */
  readonly process?: { readonly zone?: string; readonly clockMs?: number };
}

const HOUR_MS = 3_600_000;

const SWITCHES = [
  ...["async_append", "bitmapscan", "gathermerge", "hashagg", "hashjoin", "incremental_sort", "indexonlyscan", "indexscan", "material"],
  ...["memoize", "mergejoin", "nestloop", "parallel_append", "parallel_hash", "partition_pruning", "seqscan", "sort", "tidscan"],
];

// Without jit: a plan that is forced costs so much that each would be compiled, for seconds.
const off = (...switches: string[]) => ({ ...Object.fromEntries(switches.map((name) => [`enable_${name}`, "off"])), jit: "off" });

// Each stands for itself: a role that is set so, with postgres.js.
const ROLES: Record<string, Record<string, string>> = {
  "repeatable read": { default_transaction_isolation: "repeatable read" },
  "serializable": { default_transaction_isolation: "serializable", default_transaction_deferrable: "on", synchronous_commit: "off" },
  "times as in Kathmandu": { TimeZone: "Asia/Kathmandu", DateStyle: "SQL, DMY", IntervalStyle: "sql_standard" },
  "times as in Germany": { TimeZone: "Europe/Berlin", DateStyle: "German", IntervalStyle: "iso_8601" },
  "no search_path": { search_path: "" },
  // shadows.ts has what is in these schemas.
  "search_path with shadows": { search_path: "shadows, public" },
  "search_path with shadows before pg_catalog": { search_path: "darker_shadows, pg_catalog" },
  "strings as of old": { standard_conforming_strings: "off", backslash_quote: "on", escape_string_warning: "off", bytea_output: "escape", extra_float_digits: "-15" },
  "nulls and names as of old": { quote_all_identifiers: "on", array_nulls: "off", transform_null_equals: "on", xmlbinary: "hex", lc_messages: "C", client_min_messages: "warning" },
  "timeouts": { statement_timeout: "60s", lock_timeout: "30s", idle_in_transaction_session_timeout: "30s", deadlock_timeout: "10ms" },
  "generic plans": { plan_cache_mode: "force_generic_plan" },
  "custom plans": { plan_cache_mode: "force_custom_plan" },
  "no sequential scans": { ...off("seqscan"), random_page_cost: "0.1" },
  "no index scans": off("indexscan", "indexonlyscan", "bitmapscan"),
  "no nested loops": off("nestloop"),
  "no hash and merge joins": off("hashjoin", "mergejoin", "hashagg", "memoize"),
  "every planner switch off": off(...SWITCHES),
  "parallel plans": { parallel_setup_cost: "0", parallel_tuple_cost: "0", min_parallel_table_scan_size: "0", min_parallel_index_scan_size: "0" },
  "little memory": { work_mem: "64kB", temp_buffers: "800kB", hash_mem_multiplier: "1", from_collapse_limit: "1", join_collapse_limit: "1" },
};

const SCHEMAS: Record<string, Setting["schema"]> = {
  "schema with quotes, dots and blanks": `q"u''o"".t e\\d $1 :x -- /* `,
  "schema of 63 bytes": "s".repeat(63 - 8),
  "schemas that are not ASCII, or $user": ["😀.🐘.", "ü".repeat((63 - 9) / 2) + "_", "$user", "Ａ\u202e"],
  "schemas called like reserved words": ["select", "user", "table", "order", "default", "null", "true", "all", "group", "analyze", "limit", "PUBLIC"],
  "schemas called like ours": ["workflows", "workflow_attempts", "skiplocked_schema", "workflow", "a", "@schema", "@schema-literal", "stamp"],
};

const PROCESSES: Record<string, Setting["process"]> = {
  "process in Kathmandu, its clock an hour fast": { zone: "Asia/Kathmandu", clockMs: HOUR_MS },
  "process in Los Angeles, its clock an hour slow": { zone: "America/Los_Angeles", clockMs: -HOUR_MS },
};

export const settings: readonly Setting[] = [
  ...entries(ROLES).map(([name, role]) => ({ name, role })),
  ...entries(SCHEMAS).map(([name, schema]) => ({ name, schema: schema! })),
  ...entries(PROCESSES).map(([name, process]) => ({ name, process: process! })),
].map((setting) => ({ ...setting, name: `postgres.js, ${setting.name}` }));

function entries<T>(of: Record<string, T>): [string, T][] {
  return Object.entries(of);
}

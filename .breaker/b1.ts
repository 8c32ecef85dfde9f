// caller options & roles
import { pg, createQueue, err, sleep, postgres } from "./h.ts";
const admin = pg({ max: 1 });
const cases: Record<string, any> = {
  camel: { transform: postgres.camel }, undef: { transform: { undefined: null } }, valuefrom: { transform: { value: { from: (x: any) => x === null ? undefined : x } } },
  trimvalue: { transform: { value: { from: (x: any) => typeof x === "string" ? x.trim() : x } } },
  valuenum: { transform: { value: { from: (x: any) => typeof x === "string" && /^\d+$/.test(x) ? Number(x) : x } } },
  rowfrom: { transform: { row: { from: (r: any) => Object.freeze({ ...r, extra: 1 }) } } },
  rowmap: { transform: { row: { from: (r: any) => new Map(Object.entries(r)) } } },
  colconst: { transform: { column: { from: (c: string) => "c_" + c.length } } },
  coldigits: { transform: { column: { from: (c: string) => c.toUpperCase() } } },
  textparser: { types: { text: { to: 25, from: [25], serialize: (x: any) => x, parse: (x: string) => x.toUpperCase() } } },
  textparserDate: { types: { text: { to: 25, from: [25], serialize: (x: any) => x, parse: (x: string) => /^\d{4}-\d\d/.test(x) ? new Date(x) : x } } },
  textser: { types: { text: { to: 25, from: [25], serialize: (x: any) => JSON.stringify(x), parse: (x: string) => x } } },
  int8: { types: { bigint: postgres.BigInt, json: { to: 114, from: [114, 3802], serialize: (x: any) => JSON.stringify(x), parse: (x: any) => x + "!" }, date: { to: 1184, from: [1082, 1114, 1184], serialize: (x: any) => x, parse: (x: any) => x } } },
  noprep: { prepare: false }, nofetch: { fetch_types: false, prepare: false, max: 1 }, one: { max: 1 },
  ser: { connection: { default_transaction_isolation: "serializable" } }, rr: { max: 1, connection: { default_transaction_isolation: "repeatable read" } },
  tz: { connection: { TimeZone: "Asia/Kathmandu", DateStyle: "SQL, DMY", IntervalStyle: "sql_standard", extra_float_digits: -15 } },
  sp: { connection: { search_path: "" } }, scs: { connection: { standard_conforming_strings: "off", backslash_quote: "on", escape_string_warning: "on" } },
  planner: { connection: { enable_indexscan: "off", enable_bitmapscan: "off", enable_indexonlyscan: "off", enable_nestloop: "off", enable_sort: "off", enable_hashjoin: "off", force_parallel_mode: "on", jit_above_cost: 0 } },
  planner2: { connection: { enable_seqscan: "off", enable_nestloop: "off", enable_material: "off", enable_memoize: "off", plan_cache_mode: "force_generic_plan", from_collapse_limit: 1, join_collapse_limit: 1, geqo_threshold: 2 } },
  misc: { connection: { quote_all_identifiers: "on", array_nulls: "off", transform_null_equals: "on", bytea_output: "escape", xmloption: "document", default_transaction_deferrable: "on", synchronous_commit: "off", client_min_messages: "debug5", lc_numeric: "C" } },
};
async function cycle(o: any) {
  const sql = pg(o); const schema = "opt"; const q = createQueue(sql, { schema, instanceId: "me é/1" });
  const out: any[] = [];
  await q.migrate();
  const [a, b, c] = await q.enqueue([{ role: "r1", payload: { b: " padded ", n: 12, d: "2024-01-01" }, tier: 3, key: "k " }, { role: "r1", runAt: new Date(Date.now() - 5000) }, { role: "r 2", priority: -1, delayMs: 0, payload: "007" }]);
  out.push(await q.enqueue([{ role: "r1", key: "k " }, { role: "r1", key: "k2" }]).then((x) => x.map((y) => y.created)));
  out.push((await q.reap()).requeued.length);
  const cl: any = await q.dequeueMany({ roles: ["r1", "r 2"], limit: 10 });
  out.push(cl.map((x: any) => [x.role, x.payload, x.tier, x.priority, x.key, x.attemptNumber, x.pickupCount, typeof x.attemptId, typeof x.fencingToken, x.instanceId]));
  out.push(await q.heartbeat([...cl, { ...cl[0], fencingToken: "77" }]));
  await q.complete(cl[0], { outcome: "ö", result: { a: 1 }, next: [{ role: "n", payload: [1] }] });
  await q.fail(cl[1], { error: new Error("x"), retry: { delayMs: 0, tier: 9 } });
  await q.release(cl[2]);
  await q.reap();
  out.push((await q.dequeue({ roles: ["n"] }) as any).payload);
  const e: any = await q.dequeue({ roles: ["r1"] }); out.push([e.role, e.tier, e.attemptNumber]);
  await sql.begin(async (tx) => { const u = q.using(tx); const w = await u.enqueue({ role: "t" }); const r = await err(u.enqueue({ role: "t", workflowId: 999999 })); out.push(r); out.push(await err(u.retry(w.workflowId))); await u.cancel(w.workflowId); });
  await sleep(3); const rp = await q.reap({ staleAfterMs: 0, maxPickups: 1 }); out.push(rp.stuck.length);
  const st = await q.stats(); out.push(st.stuck, st.roles.map((r) => [r.role, r.pending, r.scheduled, r.inProgress, r.succeeded, r.failed]));
  out.push(await q.prune({ olderThanMs: 0 }));
  await sql.end({ timeout: 1 });
  return JSON.stringify(out).replace(/workflow \d+/g, "workflow N");
}
let ref = "";
for (const [n, o] of [["plain", {}] as any, ...Object.entries(cases)]) {
  await admin`drop schema if exists opt cascade`;
  const r = await Promise.race([err(cycle(o)), sleep(15000).then(() => "TIMEOUT")]);
  if (n === "plain") { ref = r; console.log(ref); } else console.log(n, r === ref ? "same" : "DIFFERENT " + r);
}
process.exit(0);

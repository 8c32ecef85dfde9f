import { type Ending, type Entry, journalsIn, type Outcome, readJournal } from "./journal.ts";
import type { Driver } from "./place.ts";

/** A call that ended a lease, or tried to. Without an answer its outcome is unknown and it may take effect any time. */
export interface End {
  how: Ending;
  from: number;
  to: number;
  outcome: Outcome;
}

/** A lease as its holder knew it. */
export interface LeaseRecord {
  attemptId: number;
  token: number;
  instance: string;
  pickupCount: number;
  /** The claim was sent after `from` and answered before `to`. */
  from: number;
  to: number;
  /** When the last claim or heartbeat was sent that was answered: so late it was alive for certain. */
  lastSign: number;
  ends: End[];
}

/** A call of any kind, for the figures. */
export interface CallRecord {
  from: number;
  outcome: Outcome;
  error?: string;
}

/** An enqueue: what was sent, and the ids if it was answered. */
export interface EnqueueRecord extends CallRecord {
  /** When it was answered; Infinity if nobody knows. */
  to: number;
  ns: number[];
  /** The workflow that was to be joined. */
  workflowId: number | undefined;
  ids: number[];
  workflowIds: number[];
}

/** A pickup that a reap told of; the reap was sent after `from` and answered before `to`. */
export interface Pickup {
  count: number;
  stuck: boolean;
  from: number;
  to: number;
}

/** A call whose effect nobody knows. */
export interface UnknownCall {
  type: Opening["type"];
  from: number;
  error: string;
  /** The place in the crew, and the driver that its process was on. */
  via: string;
  driver: Driver;
  /** Of a claim: how many it might have brought. */
  limit: number;
}

/** What all journals say together. */
export interface Ledger {
  /** By attempt, in the order of their tokens. */
  leases: Map<number, LeaseRecord[]>;
  /** By attempt: the pickups that reaps told of. */
  pickups: Map<number, Pickup[]>;
  enqueues: EnqueueRecord[];
  /** Every attempt taken back, by the time of the answer. */
  reapedAt: number[];
  /** By the time at which they were sent. */
  unknown: UnknownCall[];
  calls: number;
}

type Opening = Extract<Entry, { call: number }> & { type: "claiming" | "ending" | "beating" | "reaping" | "enqueuing" };

/** Reads all journals of a folder. */
export async function readLedger(folder: string): Promise<Ledger> {
  const ledger: Ledger = { leases: new Map(), pickups: new Map(), enqueues: [], reapedAt: [], unknown: [], calls: 0 };
  for (const file of journalsIn(folder)) {
    let reader = startReader(ledger, { instance: "", via: "", driver: "openSqlite" });
    for await (const entry of readJournal(file)) {
      if (entry.type === "started") {
        reader.close();
        reader = startReader(ledger, entry);
      } else reader.read(entry);
    }
    reader.close();
  }
  for (const leases of ledger.leases.values()) leases.sort((a, b) => a.token - b.token || a.from - b.from);
  ledger.unknown.sort((a, b) => a.from - b.from);
  return ledger;
}

// Of one process: its calls and leases are nobody else's.
function startReader(ledger: Ledger, { instance, via, driver }: Pick<Extract<Entry, { type: "started" }>, "instance" | "via" | "driver">) {
  const open = new Map<number, Opening>();
  const mine = new Map<string, LeaseRecord>();
  const endOf = new Map<number, End>();

  function read(entry: Entry): void {
    if (!("call" in entry)) return;
    switch (entry.type) {
      case "claiming": case "beating": case "reaping": case "enqueuing": case "ending":
        ledger.calls++;
        open.set(entry.call, entry);
        if (entry.type === "ending") begin(entry);
        return;
    }
    const opening = open.get(entry.call);
    if (opening === undefined) throw new Error(`A journal has an answer to call ${entry.call} of ${instance}, which was never made`);
    open.delete(entry.call);
    if (entry.type === "answered") return failed(opening, entry.at, entry.outcome, entry.error ?? "");
    if (entry.type === "claimed") entry.leases.forEach(([id, token, pickupCount]) => claimed(opening.at, entry.at, Number(id), Number(token), pickupCount));
    if (entry.type === "beat" && opening.type === "beating") {
      entry.held.forEach((held, place) => {
        const lease = mine.get(opening.leases[place]!.join());
        if (held && lease) lease.lastSign = Math.max(lease.lastSign, opening.at);
      });
    }
    if (entry.type === "reaped") {
      for (const [id, count, stuck] of entry.rows) {
        push(ledger.pickups, Number(id), { count, stuck, from: opening.at, to: entry.at });
        ledger.reapedAt.push(entry.at);
      }
    }
    if (entry.type === "enqueued" && opening.type === "enqueuing") {
      const made = { ids: entry.ids.map(Number), workflowIds: entry.workflowIds.map(Number) };
      ledger.enqueues.push({ ...enqueue(opening), to: entry.at, outcome: "done", ...made });
    }
  }

  function claimed(from: number, to: number, attemptId: number, token: number, pickupCount: number): void {
    const lease: LeaseRecord = { attemptId, token, instance, pickupCount, from, to, lastSign: from, ends: [] };
    mine.set(`${attemptId},${token}`, lease);
    push(ledger.leases, attemptId, lease);
  }

  function begin({ call, at, how, lease: held }: Extract<Entry, { type: "ending" }>): void {
    const end: End = { how, from: at, to: Infinity, outcome: "unknown" };
    endOf.set(call, end);
    mine.get(held.join())?.ends.push(end);
  }

  function failed(opening: Opening, at: number, outcome: Outcome, error: string): void {
    if (opening.type === "ending") Object.assign(endOf.get(opening.call)!, { outcome, to: outcome === "unknown" ? Infinity : at });
    endOf.delete(opening.call);
    if (opening.type === "enqueuing") ledger.enqueues.push({ ...enqueue(opening), to: outcome === "unknown" ? Infinity : at, outcome, ids: [], workflowIds: [], error });
    if (outcome === "unknown") {
      ledger.unknown.push({ type: opening.type, from: opening.at, error, via, driver, limit: opening.type === "claiming" ? opening.limit : 0 });
    }
  }

  function enqueue({ at, ns, workflowId }: Extract<Entry, { type: "enqueuing" }>): Pick<EnqueueRecord, "from" | "ns" | "workflowId"> {
    return { from: at, ns, workflowId: workflowId === undefined ? undefined : Number(workflowId) };
  }

  // The process is gone: nothing will answer what is open.
  function close(): void {
    for (const opening of open.values()) failed(opening, Infinity, "unknown", "killed");
    open.clear();
  }

  return { read, close };
}

function push<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

import process from "node:process";
import { undoAtExit } from "./at_exit.ts";
import { runProgram } from "./programs.ts";

/** A network of its own, joined to this machine by one cable. */
export interface NetworkNamespace {
  readonly name: string;
  /** This machine's address, as it is seen from there. */
  readonly host: string;
  plug(connected: boolean): Promise<void>;
  remove(): Promise<void>;
}

/** Makes one; where the machine does not allow it, says why. */
export async function makeNamespace(): Promise<NetworkNamespace | { why: string }> {
  if (process.getuid?.() !== 0) return { why: "a network namespace takes root" };
  const id = process.pid % 10_000;
  const name = `skiplocked-${id}`;
  const [near, far] = [`slk${id}a`, `slk${id}b`] as const;
  const subnet = `10.213.${id % 250}`;
  const ip = (command: string) => runProgram("ip", command.split(" "));
  const remove = async () => {
    // The cable goes with either of its ends.
    await ip(`link del ${near}`).catch(() => {});
    await ip(`netns del ${name}`).catch(() => {});
  };
  undoAtExit("ip", ["link", "del", near]);
  undoAtExit("ip", ["netns", "del", name]);
  try {
    await ip(`netns add ${name}`);
    await ip(`link add ${near} type veth peer name ${far} netns ${name}`);
    await ip(`addr add ${subnet}.1/30 dev ${near}`);
    await ip(`link set ${near} up`);
    await ip(`-n ${name} addr add ${subnet}.2/30 dev ${far}`);
    await ip(`-n ${name} link set ${far} up`);
    await ip(`-n ${name} link set lo up`);
  } catch (error) {
    await remove();
    return { why: `ip refused: ${(error as Error).message.split("\n").find((line) => /RTNETLINK|Error|not/.test(line)) ?? error}` };
  }
  return { name, host: `${subnet}.1`, plug: async (connected) => void await ip(`link set ${near} ${connected ? "up" : "down"}`), remove };
}

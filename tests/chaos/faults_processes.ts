import { setTimeout as sleep } from "node:timers/promises";
import type { Faults } from "./arena.ts";

/** What happens to the processes of the crew, on any database. */
export const faultsOfProcesses: Faults<{ staleAfterMs: number }> = {
  "SIGKILL of workers": () => async (crew, random) => {
    let killed = 0;
    for (const victim of random.shuffle(crew.names("worker")).slice(0, random.between(1, 3))) {
      killed += Number(crew.signal(victim, "SIGKILL"));
      await sleep(random.between(0, 200));
    }
    return killed;
  },
  "SIGKILL of everybody": () => (crew) => crew.killAll(),
  "SIGSTOP past the lease": ({ staleAfterMs }) => async (crew, random) => {
    const victims = random.shuffle(crew.names("worker")).slice(0, random.between(1, 2)).filter((victim) => crew.signal(victim, "SIGSTOP"));
    await sleep(staleAfterMs * (1.3 + random.next()));
    victims.forEach((victim) => crew.signal(victim, "SIGCONT"));
    return victims.length;
  },
};

import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "./arena.ts";

/** What happens to the processes of the crew, on any database. */
export function faultsOfProcesses(staleAfterMs: number): Fault[] {
  return [
    {
      name: "SIGKILL of workers",
      async run(crew, random) {
        const victims = random.shuffle(crew.names("worker")).slice(0, random.between(1, 3));
        for (const victim of victims) {
          crew.signal(victim, "SIGKILL");
          await sleep(random.between(0, 200));
        }
      },
    },
    {
      name: "SIGKILL of everybody",
      run: (crew) => crew.killAll(),
    },
    {
      name: "SIGSTOP past the lease",
      async run(crew, random) {
        const victims = random.shuffle(crew.names("worker")).slice(0, random.between(1, 2));
        victims.forEach((victim) => crew.signal(victim, "SIGSTOP"));
        await sleep(staleAfterMs * (1.3 + random.next()));
        victims.forEach((victim) => crew.signal(victim, "SIGCONT"));
      },
    },
  ];
}

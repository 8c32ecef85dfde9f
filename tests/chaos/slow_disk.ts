// A disk that takes its time, without a disk: a library that stands before the C library's own and, while a sign is there, lets
// every sync to disk wait. What is synced and when is each program's own doing.
import { writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { temporaryFolder } from "../support/temp.ts";
import { runProgram } from "./programs.ts";

const DELAY_MS = 300;

const SOURCE = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_for_disk(void) {
  const char *sign = getenv("SKIPLOCKED_SLOW_DISK");
  if (sign && access(sign, F_OK) == 0) usleep(${DELAY_MS * 1_000});
}

int fsync(int fd) {
  static int (*next)(int);
  if (!next) next = (int (*)(int)) dlsym(RTLD_NEXT, "fsync");
  wait_for_disk();
  return next(fd);
}

int fdatasync(int fd) {
  static int (*next)(int);
  if (!next) next = (int (*)(int)) dlsym(RTLD_NEXT, "fdatasync");
  wait_for_disk();
  return next(fd);
}
`;

/** Programs that run with `env` have a disk that can be slowed down. */
export interface SlowDisk {
  readonly env: Readonly<Record<string, string>>;
  /** For so long; what `look` sees at the end of it is returned. */
  slowFor<T>(ms: number, look: () => T | Promise<T>): Promise<T>;
}

/** Compiles the library; where there is no compiler, says so. */
export async function makeSlowDisk(): Promise<SlowDisk | { why: string }> {
  const folder = temporaryFolder("slow-disk");
  const [source, library, sign] = [join(folder, "slow_disk.c"), join(folder, "slow_disk.so"), join(folder, "slow")];
  writeFileSync(source, SOURCE);
  try {
    await runProgram("cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"]);
    await runProgram("chmod", ["-R", "a+rX", folder]);
  } catch (error) {
    return { why: `it takes a C compiler: ${(error as Error).message.split("\n")[0]}` };
  }
  return {
    env: { LD_PRELOAD: library, SKIPLOCKED_SLOW_DISK: sign },
    async slowFor(ms, look) {
      writeFileSync(sign, "");
      try {
        await sleep(ms);
        return await look();
      } finally {
        await rm(sign);
      }
    },
  };
}

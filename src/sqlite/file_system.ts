/**
 * Keeps databases off network file systems, where several machines could open the file: the locks there cannot be
 * trusted, and the shared memory of the write-ahead log never leaves one machine.
 *
 * @module
 */

import * as fs from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { SkiplockedError } from "../errors.ts";

// From linux/magic.h and the kernel modules that are not in it. FUSE is missing on purpose: it carries local ones too.
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x564c, "NCP"],
  [0x73757245, "Coda"],
  [0x5346414f, "AFS"],
  [0x6b414653, "AFS"],
  [0x00c36400, "Ceph"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
  [0x19830326, "BeeGFS"],
]);

/**
 * Names a network file system.
 *
 * @param type The `f_type` of Linux's `statfs`.
 * @returns Its name, or undefined for a local or unknown one.
 */
export function networkFileSystemName(type: bigint): string | undefined {
  // Some platforms hand the 32-bit number on as a negative one.
  return NETWORK_FILE_SYSTEMS.get(Number(BigInt.asUintN(32, type)));
}

/**
 * Refuses a database on a network file system. Silent where the runtime cannot tell.
 *
 * @param path The database file, which need not exist.
 * @param typeOf Tells the `f_type` of a path.
 * @throws {SkiplockedError} `unsupported_filesystem`
 */
export async function refuseNetworkFileSystem(path: string, typeOf: TypeOf = fileSystemType): Promise<void> {
  const type = await typeOf(path) ?? await typeOf(dirname(path));
  const name = type === undefined ? undefined : networkFileSystemName(type);
  if (name === undefined) return;
  throw new SkiplockedError(
    "unsupported_filesystem",
    `Cannot open "${path}": it is on a network file system (${name}), where SQLite's locks do not keep machines apart` +
      " and the file can be corrupted; move it to a local disk, or pass `allowNetworkFileSystem: true` if only one" +
      " machine ever opens it",
  );
}

type TypeOf = (path: string) => Promise<bigint | undefined>;

async function fileSystemType(path: string): Promise<bigint | undefined> {
  // Elsewhere `type` is another kind of number.
  if (process.platform !== "linux") return undefined;
  try {
    return (await fs.statfs(path, { bigint: true })).type;
  } catch {
    // No such file, no permission, or no `statfs` on this runtime.
    return undefined;
  }
}

// How a file is looked at before SQLite has it.
import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { networkFileSystemName, refuseNetworkFileSystem } from "../src/sqlite/file_system.ts";
import { openWatched } from "../src/sqlite/node_sqlite_open.ts";
import { temporaryFolder } from "./support/temp.ts";

const folder = temporaryFolder("sqlite-files");
let files = 0;

describe("openWatched()", () => {
  // As a driver it opens nothing, and creates the file when it is gone.
  function open(atOpening: (path: string, opened: number) => void) {
    let opened = 0;
    class Native {
      constructor(path: string) {
        atOpening(path, opened++);
      }
      close() {}
    }
    const file = join(folder, `${files++}.db`);
    writeFileSync(file, "");
    return openWatched(Native as never, file);
  }

  it("gives the file that was there", () => {
    assert.ok(open(() => {}));
  });

  it("refuses one that was created anew meanwhile", () => {
    const replace = (path: string, opened: number) => {
      if (opened === 0) return;
      // Not deleted, so that its number is taken, as it is while the witness has it open.
      renameSync(path, `${path}.old`);
      writeFileSync(path, "");
    };
    assert.throws(() => open(replace), { code: "SQLITE_CANTOPEN" });
  });
});

describe("a network file system", () => {
  it("is known by its number", () => {
    assert.equal(networkFileSystemName(0x6969n), "NFS");
    assert.equal(networkFileSystemName(0xff534d42n), "CIFS");
    assert.equal(networkFileSystemName(BigInt(0xff534d42 | 0)), "CIFS");
    assert.equal(networkFileSystemName(0xef53n), undefined);
  });

  it("is refused with the option that overrides", async () => {
    const refusal = { code: "unsupported_filesystem", message: /NFS.*allowNetworkFileSystem/ };
    await assert.rejects(refuseNetworkFileSystem("/mnt/a.db", async () => 0x6969n), refusal);
    const onlyFolder = async (path: string) => path === "/mnt" ? 0x6969n : undefined;
    await assert.rejects(refuseNetworkFileSystem("/mnt/a.db", onlyFolder), refusal);
    await refuseNetworkFileSystem("/mnt/a.db", async () => undefined);
    await refuseNetworkFileSystem(join(folder, "a.db"));
  });
});

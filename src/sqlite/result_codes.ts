/**
 * SQLite's result codes by name and number. Drivers give the one or the other.
 *
 * @module
 */

// By number, from 1.
const PRIMARY =
  ("ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL CANTOPEN PROTOCOL EMPTY" +
    " SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB NOTICE WARNING").split(" ");

// The extended codes of a primary one, from 1 as well. ABORT has no first one.
const EXTENDED: Readonly<Record<string, string>> = {
  ERROR: "MISSING_COLLSEQ RETRY SNAPSHOT RESERVESIZE KEY UNABLE",
  ABORT: " ROLLBACK",
  BUSY: "RECOVERY SNAPSHOT TIMEOUT",
  LOCKED: "SHAREDCACHE VTAB",
  READONLY: "RECOVERY CANTLOCK ROLLBACK DBMOVED CANTINIT DIRECTORY",
  IOERR: "READ SHORT_READ WRITE FSYNC DIR_FSYNC TRUNCATE FSTAT UNLOCK RDLOCK DELETE BLOCKED NOMEM ACCESS" +
    " CHECKRESERVEDLOCK LOCK CLOSE DIR_CLOSE SHMOPEN SHMSIZE SHMLOCK SHMMAP SEEK DELETE_NOENT MMAP GETTEMPPATH CONVPATH" +
    " VNODE AUTH BEGIN_ATOMIC COMMIT_ATOMIC ROLLBACK_ATOMIC DATA CORRUPTFS IN_PAGE",
  CORRUPT: "VTAB SEQUENCE INDEX",
  CANTOPEN: "NOTEMPDIR ISDIR FULLPATH CONVPATH DIRTYWAL SYMLINK",
  CONSTRAINT: "CHECK COMMITHOOK FOREIGNKEY FUNCTION NOTNULL PRIMARYKEY TRIGGER UNIQUE VTAB ROWID PINNED DATATYPE",
  AUTH: "USER",
  NOTICE: "RECOVER_WAL RECOVER_ROLLBACK RBU",
  WARNING: "AUTOINDEX",
};

const NAMES: ReadonlyMap<number, string> = new Map(PRIMARY.flatMap((primary, index) => [
  [index + 1, `SQLITE_${primary}`] as const,
  ...(EXTENDED[primary]?.split(" ") ?? []).map((extended, place) => {
    return [index + 1 + (place + 1) * 256, `SQLITE_${primary}_${extended}`] as const;
  }),
]));

const NUMBERS: ReadonlyMap<string, number> = new Map([...NAMES].map(([number, name]) => [name, number]));

/** `SQLITE_CONSTRAINT_UNIQUE` for 2067; the primary code's name for an extended one that is newer than this list. */
export function nameOfCode(number: number): string | undefined {
  return NAMES.get(number) ?? NAMES.get(number & 0xff);
}

/** 2067 for `SQLITE_CONSTRAINT_UNIQUE`. */
export function numberOfCode(name: string): number | undefined {
  return NUMBERS.get(name);
}

import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { createDatabase } from "../postgres_server.ts";
import { tell } from "./schema.ts";

/** A role, and a database of its own beside that of `server`. */
export interface RoleOfItsOwn {
  /** Of the database, for the superuser. */
  readonly url: string;
  readonly role: string;
  readonly admin: postgres.Sql;
  /** A pool of this role; closed with the rest. */
  connect(max: number): postgres.Sql;
  /** Removes all of it, whatever the role owns and whoever is connected. */
  close(): Promise<void>;
}

/** @param attributes Of the role, as `create role` has them. */
export async function roleOfItsOwn(server: string, attributes: string): Promise<RoleOfItsOwn> {
  const { url, name, drop } = await createDatabase(server);
  const role = `skiplocked_${randomUUID().slice(0, 8)}`;
  const admin = postgres(url, { max: 2, onnotice: tell });
  const pools = [admin];
  const close = async () => {
    for (const pool of pools) await pool.end({ timeout: 1 });
    // First what it may own things in.
    await drop();
    const last = postgres(server, { max: 1, onnotice: tell });
    await last.unsafe(`drop role if exists ${role}`).finally(() => last.end());
  };
  try {
    await admin.unsafe(`create role ${role} login ${attributes} password '${decodeURIComponent(new URL(url).password) || role}'`);
    await admin.unsafe(`alter database "${name}" owner to ${role}`);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url,
    role,
    admin,
    connect: (max) => {
      const pool = postgres(url, { max, username: role, onnotice: tell });
      pools.push(pool);
      return pool;
    },
    close,
  };
}

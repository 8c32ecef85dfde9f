/**
 * What the queue learns of its surroundings. It never asks a runtime for a permission: what is denied is done without.
 *
 * @module
 */

import { SkiplockedError } from "./errors.ts";

const VARIABLE = "CONTROLLER_MAX_ATTEMPT_PICKUPS";
const DEFAULT_MAX_PICKUPS = 3;

// What is used of the runtimes, so that no types of any of them are needed.
interface Runtime {
  crypto: { randomUUID(): string };
  Deno?: {
    permissions: { querySync(descriptor: object): { state: string } };
    env: { get(name: string): string | undefined };
    hostname(): string;
  };
  process?: {
    pid: number;
    env: Record<string, string | undefined>;
    getBuiltinModule?(id: string): { hostname(): string } | undefined;
  };
}

const runtime = globalThis as unknown as Runtime;

/**
 * How often an attempt may be reaped, by the environment.
 *
 * @throws {SkiplockedError} `invalid_argument` if the variable is set to anything but a positive integer.
 */
export function defaultMaxPickups(): number {
  const value = environmentVariable(VARIABLE);
  if (value === undefined) return DEFAULT_MAX_PICKUPS;
  const number = Number(value);
  if (/^[0-9]+$/.test(value) && number >= 1 && number < 2 ** 31) return number;
  throw new SkiplockedError("invalid_argument", `The environment variable ${VARIABLE} must be a positive integer, got ${JSON.stringify(value)}`);
}

/** A name that no other instance has: `{hostname}/{pid}/{uuid}`. Containers repeat host names and process ids. */
export function newInstanceId(): string {
  return `${hostname().replaceAll("/", "-")}/${runtime.process?.pid ?? 0}/${runtime.crypto.randomUUID()}`;
}

function environmentVariable(name: string): string | undefined {
  const { Deno } = runtime;
  if (Deno !== undefined) return isGranted({ name: "env", variable: name }) ? Deno.env.get(name) : undefined;
  return runtime.process?.env[name];
}

function hostname(): string {
  const { Deno } = runtime;
  if (Deno !== undefined) return isGranted({ name: "sys", kind: "hostname" }) ? Deno.hostname() : "localhost";
  return runtime.process?.getBuiltinModule?.("node:os")?.hostname() || "localhost";
}

function isGranted(permission: object): boolean {
  return runtime.Deno?.permissions.querySync(permission).state === "granted";
}

/**
 * From the arguments of a bun:sqlite call to values that every driver binds alike.
 *
 * @module
 */

import type { Binding, DriverValue } from "./driver.ts";

/**
 * Gives each parameter its value.
 *
 * @param parameters The names of the statement's parameters, as {@linkcode parametersOf} gives them.
 * @param args What the caller passed: values, one array of values, or one object of named values.
 * @returns Every parameter with its value.
 * @throws {RangeError} If a parameter gets no value, there are too many values, or a bigint does not fit into 64 bits.
 * @throws {TypeError} If a value is of a type that SQLite does not store.
 */
export function bind(parameters: readonly (string | null)[], args: readonly unknown[]): Binding[] {
  const valueOf = isNamed(args) ? byName(args[0]) : byPlace(args, parameters.length);
  return parameters.map((name, index) => {
    return { name, value: toDriverValue(valueOf(name, index), name ?? `parameter ${index + 1}`) };
  });
}

// With memory behind it: Node 22 takes an empty one without for NULL.
const NO_BYTES = new Uint8Array(new ArrayBuffer(1), 0, 0);

type ValueOf = (name: string | null, index: number) => unknown;

function isNamed(args: readonly unknown[]): args is [object] {
  const [first] = args;
  return args.length === 1 && typeof first === "object" && first !== null && !Array.isArray(first) &&
    !ArrayBuffer.isView(first);
}

function byName(values: object): ValueOf {
  return (name, index) => {
    // Own keys only: a parameter `:constructor` must not find what every object inherits.
    const key = keysOf(name, index).find((candidate) => Object.hasOwn(values, candidate));
    if (key === undefined) throw new RangeError(`Cannot bind "${name ?? `?${index + 1}`}": no value has this name`);
    return Reflect.get(values, key);
  };
}

/** A parameter that is a number goes by the number of its place, from 0. */
function keysOf(name: string | null, index: number): string[] {
  if (name === null) return [String(index)];
  return [name.startsWith("?") ? String(index) : name.slice(1), name];
}

function byPlace(args: readonly unknown[], expected: number): ValueOf {
  const values: readonly unknown[] = args.length === 1 && Array.isArray(args[0]) ? args[0] : args;
  if (values.length !== expected) {
    throw new RangeError(`SQLite query expected ${expected} values, received ${values.length}`);
  }
  return (_name, index) => values[index];
}

function toDriverValue(value: unknown, label: string): DriverValue {
  switch (typeof value) {
    case "undefined":
      return null;
    case "string":
      return value;
    case "boolean":
      return value ? 1n : 0n;
    case "number":
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : value;
    case "bigint":
      if (BigInt.asIntN(64, value) === value) return value;
      throw new RangeError(`Cannot bind ${value} to "${label}": SQLite integers have 64 bits`);
    case "object":
      if (value === null) return value;
      if (ArrayBuffer.isView(value)) return toBytes(value);
  }
  const type = Object.prototype.toString.call(value).slice(8, -1);
  throw new TypeError(
    `Cannot bind a value of type ${type} to "${label}": give a string, number, bigint, boolean, Uint8Array or null`,
  );
}

/** Some drivers take no other view than this one. */
function toBytes({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return byteLength === 0 ? NO_BYTES : new Uint8Array(buffer, byteOffset, byteLength);
}

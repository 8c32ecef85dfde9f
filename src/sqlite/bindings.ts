/**
 * From the arguments of a bun:sqlite call to values that every driver binds alike.
 *
 * @module
 */

import type { DriverBindings, DriverValue } from "./driver.ts";

/**
 * Gives each parameter its value.
 *
 * @param parameters The names of the statement's parameters, as {@linkcode parametersOf} gives them.
 * @param args What the caller passed: values, one array of values, or one object of named values.
 * @returns The values by place and by name.
 * @throws {RangeError} If a parameter gets no value, there are too many values, or a bigint does not fit into 64 bits.
 * @throws {TypeError} If a value is of a type that SQLite does not store.
 */
export function bind(parameters: readonly (string | null)[], args: readonly unknown[]): DriverBindings {
  const valueOf = isNamed(args) ? byName(args[0]) : byPlace(args, parameters.length);
  const anonymous: DriverValue[] = [];
  const named: Record<string, DriverValue> = Object.create(null);
  parameters.forEach((name, index) => {
    const label = name ?? `parameter ${index + 1}`;
    const value = toDriverValue(valueOf(name, index), label);
    if (name === null) {
      anonymous.push(value);
    } else {
      addNamed(named, name, value);
    }
  });
  return { anonymous, named: anonymous.length === parameters.length ? null : named };
}

type ValueOf = (name: string | null, index: number) => unknown;

function isNamed(args: readonly unknown[]): args is [object] {
  const [first] = args;
  return args.length === 1 && typeof first === "object" && first !== null && !Array.isArray(first) &&
    !ArrayBuffer.isView(first);
}

function byName(values: object): ValueOf {
  return (name, index) => {
    if (name === null) {
      throw new RangeError(`Cannot bind parameter ${index + 1}: it has no name, so give its value by position`);
    }
    // Own keys only: a parameter `:constructor` must not find what every object inherits.
    const key = [name.slice(1), name].find((candidate) => Object.hasOwn(values, candidate));
    if (key === undefined) throw new RangeError(`Cannot bind "${name}": no value has this name`);
    return Reflect.get(values, key);
  };
}

function byPlace(args: readonly unknown[], expected: number): ValueOf {
  const values: readonly unknown[] = args.length === 1 && Array.isArray(args[0]) ? args[0] : args;
  if (values.length !== expected) {
    throw new RangeError(`SQLite query expected ${expected} values, received ${values.length}`);
  }
  return (_name, index) => values[index];
}

function addNamed(named: Record<string, DriverValue>, name: string, value: DriverValue): void {
  const key = name.slice(1);
  // Drivers look names up without the prefix, so `:a` and `@a` cannot hold different values there.
  if (key in named && named[key] !== value) {
    throw new RangeError(`Cannot bind "${name}": another parameter is called "${key}" and has another value`);
  }
  named[key] = value;
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
      if (value === null || ArrayBuffer.isView(value)) return value;
  }
  const type = Object.prototype.toString.call(value).slice(8, -1);
  throw new TypeError(
    `Cannot bind a value of type ${type} to "${label}": give a string, number, bigint, boolean, Uint8Array or null`,
  );
}

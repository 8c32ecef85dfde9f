/** Whether a value has these methods. Connections are told by their shape: two copies of a package have two classes. */
export function hasMethods(value: unknown, ...names: string[]): boolean {
  if (value === null || typeof value !== "object" && typeof value !== "function") return false;
  return names.every((name) => typeof (value as Record<string, unknown>)[name] === "function");
}

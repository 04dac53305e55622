/** Reads fields of values that came as JSON. Every function returns a value of its type or throws a {@link ProtocolError}. */

/** The server sent something that the contract does not allow. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

export type Fields = Record<string, unknown>;

export function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function record(value: unknown, what: string): Fields {
  if (!isRecord(value)) {
    throw new ProtocolError(`${what} is not an object`);
  }
  return value;
}

export function list(fields: Fields, key: string): readonly unknown[] {
  const value = fields[key];
  if (!Array.isArray(value)) {
    throw new ProtocolError(`${key} is not a list`);
  }
  return value as readonly unknown[];
}

export function number(fields: Fields, key: string): number {
  const value = fields[key];
  if (typeof value !== "number") {
    throw new ProtocolError(`${key} is not a number`);
  }
  return value;
}

/** A list of numbers only. */
export function numbers(fields: Fields, key: string): readonly number[] {
  const values = list(fields, key);
  if (!values.every((value): value is number => typeof value === "number")) {
    throw new ProtocolError(`${key} has an item that is not a number`);
  }
  return values;
}

export function string(fields: Fields, key: string): string {
  const value = fields[key];
  if (typeof value !== "string") {
    throw new ProtocolError(`${key} is not a string`);
  }
  return value;
}

/** `undefined` for a field that is missing, null or of another type. */
export function optionalNumber(fields: Fields, key: string): number | undefined {
  const value = fields[key];
  return typeof value === "number" ? value : undefined;
}

/** Likewise. */
export function optionalString(fields: Fields, key: string): string | undefined {
  const value = fields[key];
  return typeof value === "string" ? value : undefined;
}

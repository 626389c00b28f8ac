/** Whether a field of another hub's JSON is text of a length that hubs send. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= 1_024;
}

/** Whether it is an integer of at least 0. */
export function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

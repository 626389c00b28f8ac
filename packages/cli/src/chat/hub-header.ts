/** Decodes one of the hub's own headers, where it percent-encodes all but visible ASCII. Contract §4. */
export function hubHeader({ headers }: Response, name: string): string | undefined {
  const value = headers.get(name);
  if (value === null) return undefined;
  try {
    return decodeURIComponent(value);
  } catch {
    // A bare % from something other than the hub.
    return value;
  }
}

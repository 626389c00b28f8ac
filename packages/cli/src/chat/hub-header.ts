/** A header of the hub's own. It percent-encodes what is not visible ASCII. Contract §4. */
export function hubHeader({ headers }: Response, name: string): string | undefined {
  const value = headers.get(name);
  if (value === null) return undefined;
  try {
    return decodeURIComponent(value);
  } catch {
    // A lone % that nobody encoded.
    return value;
  }
}

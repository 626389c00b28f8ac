/** Names of the escape codes for colours. ECMA-48 §8.3.117 (SGR). */
const tags: Readonly<Record<string, string>> = {
  "1": "bold",
  "2": "dim",
  "31": "red",
  "32": "green",
  "33": "yellow",
  "40": "on black",
  "97": "bright white",
};

/** The codes that end one of them. */
const ends = new Set(["22", "39", "49"]);

/**
 * Text for a terminal as text for a reader: `‹red›error: …‹/›`. A code that has no name here is shown unchanged, so
 * nothing that a terminal would obey goes unseen.
 */
export function readable(text: string): string {
  return (
    text
      // oxlint-disable-next-line no-control-regex -- what is looked for is what a terminal reads as colour
      .replaceAll(/\u001b\[(\d+)m/g, (code, number: string) =>
        ends.has(number) ? "‹/›" : tags[number] === undefined ? code : `‹${tags[number]}›`,
      )
      .replaceAll("\r\u001b[K", "‹line erased›\n")
      .replaceAll("\u001b", "‹escape›")
      .replaceAll("\r", "‹return›")
  );
}

/** What is different on every machine: the time of day where it stands, and the way of a stack trace. */
export function steady(text: string): string {
  return text
    .replaceAll(/\b\d\d:\d\d:\d\d\b/g, "12:03:04")
    .replaceAll(/(?:\n {4}at (?!http)[^\n‹]+)+/g, "\n    at …");
}

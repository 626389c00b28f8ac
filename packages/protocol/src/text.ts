import { z } from "zod";

/** C0 and C1 controls, and characters that reorder displayed text (bidi overrides and isolates, line separators). */
const unprintable = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/**
 * A name shown in terminals and pages: 1 to `max` code points, no control or reordering characters.
 */
export function plainText(label: string, max: number) {
  return z
    .string()
    .min(1, { error: `${label} must not be empty` })
    .refine(...atMost(label, max))
    .refine((text) => !unprintable.test(text), {
      error: `${label} must not contain control or text-direction characters`,
    })
    .refine((text) => text.trim() !== "", { error: `${label} must not be blank` })
    .meta({ maxLength: max });
}

/**
 * {@link plainText} in Unicode form NFC. Checks the length before and after: NFC makes some letters two (UAX #15,
 * composition exclusions).
 */
export function normalisedText(label: string, max: number) {
  return plainText(label, max)
    .transform((text) => text.normalize("NFC"))
    .refine(...atMost(label, max));
}

function atMost(label: string, max: number) {
  return [
    (text: string) => Array.from(text).length <= max,
    { error: `${label} must be at most ${max} characters`, params: { tooLarge: true } },
  ] as const;
}

/**
 * Makes untrusted text safe for a terminal or a log line: control and reordering characters become `�`.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, "\ufffd");
}

/**
 * Makes JSON on one line safe for a terminal without changing its value: `JSON.stringify` does not escape DEL, C1
 * controls and reordering characters.
 */
export function escapeUnprintable(json: string): string {
  return json.replace(
    /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A text with percent-encoding, decoded; one with a `%` of its own stays as it is. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Length of `text` in UTF-8 bytes. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  return bytes;
}

/** Whether `value` nests deeper than `max` objects or arrays. Not recursive, because the value is untrusted. */
export function isDeeperThan(value: unknown, max: number): boolean {
  let level: object[] = isContainer(value) ? [value] : [];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > max) return true;
    level = level.flatMap((entry) => (Object.values(entry) as unknown[]).filter(isContainer));
  }
  return false;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

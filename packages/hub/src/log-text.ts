import { escapeUnprintable } from "@roomhub/protocol";

type LogValue = string | number | null | undefined;
/** The fields of a record among them are written as if they stood there themselves. */
export type LogFields = Readonly<Record<string, LogValue | Readonly<Record<string, LogValue>>>>;

export const redacted = new Set([
  "authHeaders",
  "password",
  "authorization",
  "participantToken",
  "clientKey",
]);

/** Each request has an id of its own; all else is said again and again. */
const neverRepeated = "requestId";
const maxKnown = 512;
const maxKnownLength = 128;
/** Nothing to escape: what nearly every value is. */
const plain = /^[ !#-[\]-~]*$/;

/** What every line says of one field: its name as it is written, and the value it had last. */
interface KnownField {
  readonly prefix: string;
  readonly isRedacted: boolean;
  /** undefined when no value is ever said twice */
  last: { value: string; text: string } | undefined;
}

/** Writes fields as ` name="value" …`. Names and values that come in every line are looked up, not made again. */
export class FieldText {
  readonly #fields = new Map<string, KnownField>();
  readonly #known = new Map<string, string>();

  ofEvent(name: string, roomCode: string, fields: LogFields): string {
    return `[service] ${name} roomCode=${this.#quoted(roomCode)}${this.of(fields)}`;
  }

  /** @returns "" for no fields; begins with a space otherwise */
  of(fields: LogFields): string {
    let text = "";
    for (const name in fields) {
      const value = fields[name];
      if (value === undefined) continue;
      if (typeof value === "object" && value !== null) {
        text += this.of(value);
        continue;
      }
      const field = this.#field(name);
      text += field.prefix + this.#written(field, value);
    }
    return text;
  }

  #field(name: string): KnownField {
    const known = this.#fields.get(name);
    if (known !== undefined) return known;
    const last = name === neverRepeated ? undefined : { value: "", text: '""' };
    const made = { prefix: ` ${name}=`, isRedacted: redacted.has(name), last };
    this.#fields.set(name, made);
    return made;
  }

  #written({ isRedacted, last }: KnownField, value: string | number | null): string {
    if (isRedacted) return '"[redacted]"';
    if (typeof value !== "string") return String(value);
    if (last === undefined) return quoted(value);
    if (last.value !== value) {
      last.text = this.#quoted(value);
      last.value = value;
    }
    return last.text;
  }

  #quoted(value: string): string {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const text = quoted(value);
    if (value.length > maxKnownLength) return text;
    if (this.#known.size === maxKnown) this.#known.clear();
    this.#known.set(value, text);
    return text;
  }
}

function quoted(value: string): string {
  return plain.test(value) ? `"${value}"` : escapeUnprintable(JSON.stringify(value));
}

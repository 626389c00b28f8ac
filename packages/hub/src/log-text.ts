import { escapeUnprintable } from "@roomhub/protocol";

type LogValue = string | number | null | undefined;
/** The fields of a record among them are written as if they stood there themselves. */
export type LogFields = Readonly<Record<string, LogValue | Readonly<Record<string, LogValue>>>>;

export const redacted = new Set(["authHeaders", "password", "authorization", "participantToken"]);

/** Each request has an id of its own; all else is said again and again. */
const neverRepeated = "requestId";
const maxKnown = 512;
const maxKnownLength = 128;
/** Nothing to escape: what nearly every value is. */
const plain = /^[ !#-[\]-~]*$/;

/** Writes fields as ` name="value" …`. Names and values that come in every line are looked up, not made again. */
export class FieldText {
  readonly #known = new Map<string, string>();
  readonly #prefixes = new Map<string, string>();

  ofEvent(name: string, roomCode: string, fields: LogFields): string {
    return `[service] ${name} roomCode=${this.#quoted(roomCode)}${this.of(fields)}`;
  }

  /** @returns "" for no fields; begins with a space otherwise */
  of(fields: LogFields): string {
    let text = "";
    for (const name in fields) {
      const value = fields[name];
      if (value === undefined) continue;
      if (typeof value === "object" && value !== null) text += this.of(value);
      else text += this.#prefix(name) + this.#written(name, value);
    }
    return text;
  }

  #prefix(name: string): string {
    let prefix = this.#prefixes.get(name);
    if (prefix === undefined) this.#prefixes.set(name, (prefix = ` ${name}=`));
    return prefix;
  }

  #written(name: string, value: string | number | null): string {
    if (redacted.has(name)) return '"[redacted]"';
    if (typeof value !== "string") return String(value);
    return name === neverRepeated ? quoted(value) : this.#quoted(value);
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

/** The beginning of a custom tool's arguments: it is declared as a function of one text, `{"input": "…"}`. */
const opening = /^\s*\{\s*"input"\s*:\s*"/;
/** Including blanks; longer arguments that do not match have another shape. */
const maxOpeningLength = 256;
const escapes = /\\(?:u([0-9a-fA-F]{4})|(.))/gs;
const escapeCharacters: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  '"': '"',
  "\\": "\\",
  "/": "/",
};

/**
 * Extracts the text of a custom tool from its arguments while they arrive, so that a long patch does not look like a silent
 * provider. Arguments of another shape are returned unchanged at the end: no output of the model is lost.
 */
export class CustomInput {
  #phase: "before" | "inside" | "after" | "other shape" = "before";
  /** not returned yet */
  #rest = "";
  #text = "";

  get text(): string {
    return this.#text;
  }

  /** The closing quote has arrived. */
  get isWhole(): boolean {
    return this.#phase === "after";
  }

  /** @returns the text that this piece completes */
  add(piece: string): string {
    if (this.#phase === "after") return "";
    this.#rest += piece;
    if (this.#phase === "before") this.#lookForOpening();
    return this.#phase === "inside" ? this.#handOut() : "";
  }

  /** @returns the rest of the text; nothing of an escape that was cut off */
  end(): string {
    const isOtherShape = this.#phase === "before" || this.#phase === "other shape";
    return isOtherShape ? this.#known(this.#rest) : "";
  }

  #lookForOpening(): void {
    const match = opening.exec(this.#rest);
    if (match !== null) {
      this.#phase = "inside";
      this.#rest = this.#rest.slice(match[0].length);
    } else if (this.#rest.length > maxOpeningLength) {
      this.#phase = "other shape";
    }
  }

  #handOut(): string {
    const end = knownLength(this.#rest);
    const known = this.#rest.slice(0, end);
    if (this.#rest[end] === '"') this.#phase = "after";
    this.#rest = this.#phase === "after" ? "" : this.#rest.slice(end);
    return this.#known(known.includes("\\") ? known.replace(escapes, unescaped) : known);
  }

  #known(text: string): string {
    this.#text += text;
    return text;
  }
}

/** Up to the closing quote, or to an incomplete escape. */
function knownLength(text: string): number {
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') return at;
    if (text[at] === "\\") {
      const length = escapeLength(text, at);
      if (length === undefined) return at;
      at += length - 1;
    }
  }
  return text.length;
}

/**
 * Treats the two halves of a surrogate pair as one escape: many parsers refuse a string that ends with half a character.
 *
 * @returns undefined while it is incomplete
 */
function escapeLength(text: string, at: number): number | undefined {
  const kind = text[at + 1];
  if (kind !== "u") return kind === undefined ? undefined : 2;
  if (text.length < at + 6) return undefined;
  if (!/^d[89ab]/i.test(text.slice(at + 2, at + 4))) return 6;
  const next = text.slice(at + 6, at + 12);
  if (next.startsWith("\\u")) return next.length < 6 ? undefined : 12;
  return next === "" || next === "\\" ? undefined : 6;
}

function unescaped(escape: string, hex: string | undefined, character: string | undefined): string {
  if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
  return escapeCharacters[character ?? ""] ?? escape;
}

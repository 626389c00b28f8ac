const fieldName = "error:";
const asEvent = "event: error\ndata:";
const atLineStart = /(?<=[\r\n])error:/g;
/** A line of which so much has come that it may yet be the field. */
const cutName = /(?<=^|[\r\n])(?:e|er|err|erro|error)$/;

/**
 * llama.cpp before September 2025 sends an error of its stream in a field of its own, `error: {…}`, which readers of
 * server-sent events pass over. Here it becomes an `event: error` like every other server's.
 */
export class ErrorField {
  #isLineStart = true;
  /** the beginning of a field name, kept back until the rest of it comes */
  #held = "";

  /** @param text - of the stream, cut anywhere; @returns the same, of which only the name of a field may be missing */
  translate(text: string): string {
    const all = this.#held + text;
    this.#held = this.#beginningOfName(all);
    const known = all.slice(0, all.length - this.#held.length);
    const isField = this.#isLineStart && known.startsWith(fieldName);
    const last = known.at(-1);
    if (last !== undefined) this.#isLineStart = last === "\n" || last === "\r";
    const translated = known.includes(fieldName) ? known.replace(atLineStart, asEvent) : known;
    return isField ? asEvent + translated.slice(fieldName.length) : translated;
  }

  #beginningOfName(all: string): string {
    const name = cutName.exec(all.slice(-fieldName.length))?.[0] ?? "";
    // At the beginning of the text it is one only where a line begins.
    return name.length === all.length && !this.#isLineStart ? "" : name;
  }
}

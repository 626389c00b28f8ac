import { createHash } from "node:crypto";

/** What a hub writes between two events while there is nothing to relay. */
const comment = ": keepalive\n\n";

/** SHA-256 of a response as its provider sent it: without the hub's keepalives, where they may stand. */
export class ResponseHash {
  readonly #hash = createHash("sha256");
  /** the last two characters so far */
  #end = "\n\n";
  #held = "";

  update(text: string): void {
    let rest = this.#held + text;
    this.#held = "";
    for (;;) {
      const at = rest.indexOf(comment);
      if (at === -1) break;
      this.#take(rest.slice(0, at));
      // One in the middle of an event is a change of the provider's bytes.
      if (this.#end !== "\n\n") this.#take(comment);
      rest = rest.slice(at + comment.length);
    }
    const heldLength = beginOfComment(rest);
    this.#held = rest.slice(rest.length - heldLength);
    this.#take(rest.slice(0, rest.length - heldLength));
  }

  digest(): string {
    this.#take(this.#held);
    this.#held = "";
    return this.#hash.digest("hex");
  }

  #take(text: string): void {
    this.#hash.update(text);
    this.#end = (this.#end + text).slice(-2);
  }
}

/** How much at the end of a text may be the beginning of a comment. */
function beginOfComment(text: string): number {
  for (let length = Math.min(comment.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(comment.slice(0, length))) return length;
  }
  return 0;
}

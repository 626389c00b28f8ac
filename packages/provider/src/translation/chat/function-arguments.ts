/**
 * The arguments of a function as they arrive: a JSON object, whose end is noticed without parsing it again for each
 * piece. What is no object never comes to an end by itself.
 */
export class FunctionArguments {
  #text = "";
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isWhole = false;

  get text(): string {
    return this.#text;
  }

  /** The last brace has come: nothing but blanks can follow. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** @returns the piece, or nothing when a server sends the whole call again with each chunk */
  add(piece: string): string {
    if (this.#isWhole && piece === this.#text) return "";
    this.#text += piece;
    for (const character of piece) this.#look(character);
    return piece;
  }

  /** @returns nothing: every piece was known as it came */
  end(): string {
    return "";
  }

  #look(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === '"') this.#isInString = !this.#isInString;
    else if (this.#isInString) this.#isEscaped = character === "\\";
    else if (character === "{" || character === "[") this.#depth++;
    else if (character === "}" || character === "]") this.#isWhole = --this.#depth === 0;
  }
}

import type { CallPiece } from "./chat-choice.ts";

/** Takes the arguments of one call as they come. */
interface CallSink {
  add(piece: string): void;
}

interface Call {
  id: string;
  name: string;
  /** undefined while its name has not come, or it may be no call at all */
  item: CallSink | undefined;
  /** arguments that came before the item */
  early: string;
  /** all its arguments, as JSON whatever tool they are for */
  readonly given: FunctionArguments;
  /** Only a name and a new id behind a whole call: a call that begins, or an end as old vLLM has it. */
  isDoubtful: boolean;
}

/**
 * Brings together the pieces of parallel tool calls, which chat streams distinguish by `index`, and whose name and id come
 * only once. Servers that leave out the index, or give every call the same one, are understood by id and name, and by
 * where the arguments come to their end.
 */
export class ToolCalls {
  readonly #open: (id: string, name: string) => CallSink;
  readonly #calls: Call[] = [];
  readonly #byIndex = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();

  /** @param open - begins the item of a call; the id is the provider's, empty when it gave none */
  constructor(open: (id: string, name: string) => CallSink) {
    this.#open = open;
  }

  get count(): number {
    return this.#calls.length;
  }

  add(piece: CallPiece): void {
    const known = this.#find(piece);
    const isNext = known !== undefined && isAnother(known, piece);
    const call = known === undefined || isNext ? this.#begin(piece) : known;
    const isBlank = piece.arguments.trim() === "";
    call.isDoubtful = isBlank && (call.isDoubtful || (isNext && piece.name === known.name));
    call.id ||= piece.id;
    call.name ||= piece.name;
    call.early += piece.arguments;
    call.given.add(piece.arguments);
    if (call.name !== "" && !call.isDoubtful) this.#pass(call);
  }

  /** No name will come any more. */
  end(): void {
    for (const call of this.#calls) {
      if (call.item === undefined && !call.isDoubtful) this.#pass(call);
    }
  }

  #find({ index, id, name }: CallPiece): Call | undefined {
    if (index !== undefined) return this.#byIndex.get(index);
    if (id !== "") return this.#byId.get(id);
    return name === "" ? this.#calls.at(-1) : undefined;
  }

  #begin({ index, id }: CallPiece): Call {
    const call: Call = {
      id: "",
      name: "",
      item: undefined,
      early: "",
      given: new FunctionArguments(),
      isDoubtful: false,
    };
    this.#calls.push(call);
    if (index !== undefined) this.#byIndex.set(index, call);
    if (id !== "") this.#byId.set(id, call);
    return call;
  }

  #pass(call: Call): void {
    call.item ??= this.#open(call.id, call.name);
    call.item.add(call.early);
    call.early = "";
  }
}

/**
 * Ids and names do not show it: old vLLM repeats the name, with a new id, for each piece of one call, Gemini sends whole calls
 * of one function without ids. But nothing can follow the end of a call's arguments.
 */
function isAnother(call: Call, { id, name, arguments: piece }: CallPiece): boolean {
  if (name === "" || call.name === "") return false;
  if (name !== call.name) return true;
  if (!call.given.isWhole) return false;
  if (id !== "" && call.id !== "") return id !== call.id && (piece === "" || piece.trim() !== "");
  // The same call sent again has the same fields.
  return piece.trim() !== "" && piece !== call.given.text;
}

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

import type { CallPiece } from "./chat-choice.ts";

/** Takes the arguments of one call as they come. */
interface CallSink {
  add(piece: string): void;
}

interface Call {
  id: string;
  name: string;
  /** undefined until its name has arrived, and while it may not be a call */
  item: CallSink | undefined;
  /** arguments that came before the item */
  early: string;
  /** all its arguments so far, as JSON for any kind of tool */
  readonly given: FunctionArguments;
  /** Only a name and a new id after a complete call: the next call begins, or old vLLM ends this one. */
  isDoubtful: boolean;
}

/**
 * Joins the pieces of parallel tool calls. Chat streams distinguish the calls by `index`, and send name and id once. If a
 * server leaves out the index, or uses the same one for every call, id, name and the end of the arguments tell the calls
 * apart.
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

  /** No more names follow. */
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
 * Ids and names are not enough: old vLLM repeats the name, with a new id, for each piece of one call, and Gemini sends complete
 * calls of one function without ids. But nothing can follow the end of a call's arguments.
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
 * The arguments of a function as they arrive: a JSON object, whose end is found without parsing all of it for each piece.
 * Anything but an object has no end.
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

  /** The last brace has arrived: nothing but blanks can follow. */
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

  /** @returns nothing: every piece was returned as it arrived */
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

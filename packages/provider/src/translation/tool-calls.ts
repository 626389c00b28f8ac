import type { CallPiece } from "./chat-said.ts";

/** Takes the arguments of one call as they come. */
interface CallSink {
  add(piece: string): void;
}

interface Call {
  id: string;
  name: string;
  /** undefined while its name has not come */
  item: CallSink | undefined;
  /** arguments that came before the name */
  early: string;
}

/**
 * Brings together the pieces of parallel tool calls, which chat streams tell apart by `index`, and whose name and id come
 * only once. Servers that leave out the index, or give every call the same one, are understood by id and name.
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
    const call = known === undefined || isAnother(known, piece) ? this.#begin(piece) : known;
    call.id ||= piece.id;
    call.name ||= piece.name;
    call.early += piece.arguments;
    if (call.name !== "") this.#pass(call);
  }

  /** No name will come any more. */
  end(): void {
    for (const call of this.#calls) {
      if (call.item === undefined) this.#pass(call);
    }
  }

  #find({ index, id, name }: CallPiece): Call | undefined {
    if (index !== undefined) return this.#byIndex.get(index);
    if (id !== "") return this.#byId.get(id);
    return name === "" ? this.#calls.at(-1) : undefined;
  }

  #begin({ index, id }: CallPiece): Call {
    const call: Call = { id: "", name: "", item: undefined, early: "" };
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

/** An id alone does not tell: old vLLM gives each chunk a new one. */
function isAnother(call: Call, { id, name }: CallPiece): boolean {
  if (name === "" || call.name === "") return false;
  return name !== call.name || (id !== "" && call.id !== "" && id !== call.id);
}

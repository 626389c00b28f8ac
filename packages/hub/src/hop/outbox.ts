import { parseObject } from "@roomhub/protocol";

/** What one hub tells another. */
export type HopNote =
  /** the client of that request has the whole response, or left before */
  | ["delivered" | "gone", requestId: string]
  /** an error has been published as the end of that request: its connection may break, or has broken */
  | ["ended", requestId: string]
  /** the same, because its client has read nothing for too long */
  | ["stalled", requestId: string]
  /** the highest epoch of a room that is known */
  | ["epoch", code: string, epoch: number]
  /** what happened in a room that has its home there; opaque here */
  | ["event", event: object];

/** What is on the line: notes have a number, and each message says which number of the other side was heard last. */
interface Message {
  notes?: HopNote[];
  number?: number;
  heard: number;
}

/** The oldest are lost beyond it: a hub that hears nothing for so long is dead. */
const maxUnheard = 10_000;
const maxLineLength = 8 * 1024 * 1024;

/**
 * What is said between two runs of hubs, in both directions: each note arrives once, in order, over however many
 * connections. What the other side has not acknowledged is said again on the next one.
 */
export class Outbox {
  #last = 0;
  readonly #unheard: { number: number; line: string }[] = [];
  /** of the other side */
  #heard = 0;
  #acknowledged = 0;
  /** The other side of this connection has said what it heard last. */
  #isInStep = false;

  /** Something was heard and not acknowledged. */
  get owesWord(): boolean {
    return this.#heard > this.#acknowledged;
  }

  /** A line without notes: it acknowledges, and is a sign of life. */
  word(): string {
    this.#acknowledged = this.#heard;
    return `${JSON.stringify({ heard: this.#heard })}\n`;
  }

  /** @returns the line to write now; undefined: it follows with the next connection */
  say(notes: readonly HopNote[]): string | undefined {
    const number = (this.#last += 1);
    const line = `${JSON.stringify({ notes, number, heard: this.#heard })}\n`;
    this.#acknowledged = this.#heard;
    this.#unheard.push({ number, line });
    if (this.#unheard.length > maxUnheard) this.#unheard.shift();
    return this.#isInStep ? line : undefined;
  }

  /**
   * There is a connection.
   *
   * @param onNote - called once for each note of the other side, in their order
   * @returns a function that takes its bytes; false when they are no messages
   */
  opened(
    onNote: (note: HopNote) => void,
    write: (line: string) => void,
  ): (chunk: Buffer) => boolean {
    this.#isInStep = false;
    const decoder = new TextDecoder();
    let rest = "";
    write(this.word());
    return (chunk) => {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const message = parseObject(line);
        if (typeof message?.["heard"] !== "number") return false;
        this.#hear(message as unknown as Message, onNote, write);
      }
      return rest.length <= maxLineLength;
    };
  }

  closed(): void {
    this.#isInStep = false;
  }

  #hear(
    { notes, number, heard }: Message,
    onNote: (note: HopNote) => void,
    write: (line: string) => void,
  ): void {
    while ((this.#unheard[0]?.number ?? Infinity) <= heard) this.#unheard.shift();
    if (!this.#isInStep) {
      this.#isInStep = true;
      for (const { line } of this.#unheard) write(line);
    }
    if (number === undefined || number <= this.#heard) return;
    this.#heard = number;
    notes?.forEach(onNote);
  }
}

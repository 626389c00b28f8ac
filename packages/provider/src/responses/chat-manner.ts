import { isRefusalOf, refusesStreamOptions } from "@roomhub/protocol";
import type { ServerKnowledge } from "../learn/server-knowledge.ts";
import type { AskedResponse } from "./translation/asked.ts";
import {
  hasThoughts,
  type ThoughtField,
  type ThoughtsTaken,
  withThoughts,
} from "./translation/thought-field.ts";

/** Anything longer that begins so is another field: `reasoning_effort`. */
const named: Readonly<Record<ThoughtField, RegExp>> = {
  reasoning_content: /\breasoning_content\b/,
  reasoning: /\breasoning\b/,
};
const otherName: Readonly<Record<ThoughtField, ThoughtField>> = {
  reasoning_content: "reasoning",
  reasoning: "reasoning_content",
};

/**
 * How one request is put in chat where servers differ and the client has no say: whether `stream_options` ask for usage, and
 * under which name thoughts go back. Begins with what is known of the server and gives way to its refusals, each of which
 * takes something away, so there are few. Thoughts: one name, the other, none.
 */
export class ChatManner {
  readonly #chat: AskedResponse["chat"];
  readonly #knowledge: ServerKnowledge;
  readonly #refusedNames = new Set<ThoughtField>();
  #thoughts: ThoughtsTaken;
  #asksUsage: boolean;
  #isUsageRefused = false;

  constructor({ chat }: AskedResponse, knowledge: ServerKnowledge) {
    this.#chat = chat;
    this.#knowledge = knowledge;
    this.#thoughts = hasThoughts(chat.messages) ? knowledge.thoughtsTaken : "none";
    this.#asksUsage = "stream_options" in chat && knowledge.native("streamUsage") !== "unsupported";
  }

  body(): Buffer {
    const messages = withThoughts(this.#chat.messages, this.#thoughts);
    const chat: Record<string, unknown> = { ...this.#chat, messages };
    if (!this.#asksUsage) delete chat["stream_options"];
    return Buffer.from(JSON.stringify(chat));
  }

  /** @returns whether the refusal is about the manner, which is another now: the request is worth one more try */
  giveWay(status: number, text: string): boolean {
    if (this.#asksUsage && refusesStreamOptions(status, text)) {
      this.#asksUsage = false;
      this.#isUsageRefused = true;
      return true;
    }
    const sent = this.#thoughts;
    if (sent === "none" || !isRefusalOf(named[sent], status, text)) return false;
    this.#refusedNames.add(sent);
    const other = otherName[sent];
    this.#thoughts = this.#refusedNames.has(other) ? "none" : other;
    return true;
  }

  /** The server took the request as it is now. Only that proves that what it named before was the reason to refuse. */
  confirm(isStream: boolean): void {
    const knowledge = this.#knowledge;
    if (this.#isUsageRefused) knowledge.learn("streamUsage", "unsupported");
    else if (isStream && this.#asksUsage && knowledge.native("streamUsage") === "unknown") {
      knowledge.learn("streamUsage", "supported");
    }
    if (this.#refusedNames.size > 0) knowledge.learnThoughts(this.#thoughts);
  }
}

import { isRefusalOf, refusesStreamOptions } from "@roomhub/protocol";
import type { ServerKnowledge } from "../learn/server-knowledge.ts";
import type { ChatRequest } from "./surface-translation.ts";
import {
  hasReasoning,
  type ReasoningField,
  type AcceptedReasoning,
  withReasoning,
} from "./reasoning-field.ts";

/** Anything longer that begins so is another field: `reasoning_effort`. */
const named: Readonly<Record<ReasoningField, RegExp>> = {
  reasoning_content: /\breasoning_content\b/,
  reasoning: /\breasoning\b/,
};
const otherName: Readonly<Record<ReasoningField, ReasoningField>> = {
  reasoning_content: "reasoning",
  reasoning: "reasoning_content",
};

/**
 * How one request is put in chat where servers differ and the client has no influence: whether `stream_options` request usage, and
 * under which name reasoning is sent back. Begins with what is known of the server and falls back at its refusals, each of which
 * takes something away, so there are few. Reasoning: one name, the other, none.
 */
export class ChatDialect {
  readonly #chat: ChatRequest["chat"];
  readonly #knowledge: ServerKnowledge;
  readonly #refusedNames = new Set<ReasoningField>();
  #reasoning: AcceptedReasoning;
  #requestsUsage: boolean;
  #isUsageRefused = false;

  constructor({ chat }: ChatRequest, knowledge: ServerKnowledge) {
    this.#chat = chat;
    this.#knowledge = knowledge;
    this.#reasoning = hasReasoning(chat.messages) ? knowledge.acceptedReasoning : "none";
    this.#requestsUsage =
      "stream_options" in chat && knowledge.native("streamUsage") !== "unsupported";
  }

  body(): Buffer {
    const messages = withReasoning(this.#chat.messages, this.#reasoning);
    const chat: Record<string, unknown> = { ...this.#chat, messages };
    if (!this.#requestsUsage) delete chat["stream_options"];
    return Buffer.from(JSON.stringify(chat));
  }

  /** @returns whether the refusal is about the dialect, which has changed: the request is worth one retry */
  fallBack(status: number, text: string): boolean {
    if (this.#requestsUsage && refusesStreamOptions(status, text)) {
      this.#requestsUsage = false;
      this.#isUsageRefused = true;
      return true;
    }
    const sent = this.#reasoning;
    if (sent === "none" || !isRefusalOf(named[sent], status, text)) return false;
    this.#refusedNames.add(sent);
    const other = otherName[sent];
    this.#reasoning = this.#refusedNames.has(other) ? "none" : other;
    return true;
  }

  /** The server took the request as it is now. Only that proves that what it named before was the reason to refuse. */
  confirm(isStream: boolean): void {
    const knowledge = this.#knowledge;
    if (this.#isUsageRefused) knowledge.learn("streamUsage", "unsupported");
    else if (isStream && this.#requestsUsage && knowledge.native("streamUsage") === "unknown") {
      knowledge.learn("streamUsage", "supported");
    }
    if (this.#refusedNames.size > 0) knowledge.learnReasoning(this.#reasoning);
  }
}

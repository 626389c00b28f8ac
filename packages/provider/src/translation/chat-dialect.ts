import { isRefusalOf, refusesStreamOptions } from "@roomhub/protocol";
import type { ServerKnowledge } from "../learn/server-knowledge.ts";
import type { ServableRequest } from "./surface-translation.ts";
import {
  hasReasoning,
  type ReasoningField,
  type AcceptedReasoning,
  withReasoning,
} from "./chat/chat-message.ts";

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
 * How one request is put in chat where servers differ and the client has no influence: whether `stream_options` request usage,
 * under which name reasoning is sent back, and which optional members are sent. Begins with what is known of the server and falls back at its refusals, each of which
 * takes something away, so there are few. Reasoning: one name, the other, none.
 */
export class ChatDialect {
  readonly #chat: ServableRequest["chat"];
  readonly #knowledge: ServerKnowledge;
  readonly #refusedNames = new Set<ReasoningField>();
  readonly #optional: ServableRequest["optionalFields"];
  readonly #leftOut = new Set<string>();
  #reasoning: AcceptedReasoning;
  #requestsUsage: boolean;
  #isUsageRefused = false;

  constructor(request: ServableRequest, knowledge: ServerKnowledge) {
    const { chat } = request;
    this.#chat = chat;
    this.#optional = request.optionalFields;
    this.#knowledge = knowledge;
    this.#reasoning = hasReasoning(chat.messages)
      ? (knowledge.acceptedReasoning ?? request.reasoningAtFirst)
      : "none";
    this.#requestsUsage =
      "stream_options" in chat && knowledge.native("streamUsage") !== "unsupported";
  }

  body(): Buffer {
    const messages = withReasoning(this.#chat.messages, this.#reasoning);
    const chat: Record<string, unknown> = { ...this.#chat, messages };
    if (!this.#requestsUsage) delete chat["stream_options"];
    for (const name of this.#leftOut) delete chat[name];
    return Buffer.from(JSON.stringify(chat));
  }

  /** @returns whether the refusal is about the dialect, which has changed: the request is worth one retry */
  fallBack(status: number, text: string): boolean {
    if (this.#requestsUsage && refusesStreamOptions(status, text)) {
      this.#requestsUsage = false;
      this.#isUsageRefused = true;
      return true;
    }
    return this.#fallBackInReasoning(status, text) || this.#leaveOut(status, text);
  }

  /** Left out of this request only: whether a server takes a member may depend on the model and on the prompt. */
  #leaveOut(status: number, text: string): boolean {
    for (const { name, refusal } of this.#optional) {
      const isSent = this.#chat[name] !== undefined && !this.#leftOut.has(name);
      if (!isSent || !isRefusalOf(refusal, status, text)) continue;
      this.#leftOut.add(name);
      return true;
    }
    return false;
  }

  #fallBackInReasoning(status: number, text: string): boolean {
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

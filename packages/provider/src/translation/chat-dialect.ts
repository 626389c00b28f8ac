import { isRefusalOf, refusesStreamOptions } from "@roomhub/protocol";
import type { ServerKnowledge } from "../learn/server-knowledge.ts";
import type { ServableRequest } from "./surface-translation.ts";
import {
  hasReasoning,
  type ReasoningField,
  type AcceptedReasoning,
  withReasoning,
} from "./chat/chat-message.ts";

/** Not `reasoning_effort`, which is another field. */
const named: Readonly<Record<ReasoningField, RegExp>> = {
  reasoning_content: /\breasoning_content\b/,
  reasoning: /\breasoning\b/,
};
const otherName: Readonly<Record<ReasoningField, ReasoningField>> = {
  reasoning_content: "reasoning",
  reasoning: "reasoning_content",
};

/**
 * The parts of a chat request that depend on the server and not on the client: whether `stream_options` request usage, in
 * which field reasoning is sent back, and which optional members are sent. Begins with what is known of the server, and
 * removes at each refusal what that names, so there are few. Reasoning: one field, the other, none.
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

  /** @returns whether the refusal is about the dialect, which is changed then: send the request again */
  fallBack(status: number, text: string): boolean {
    if (this.#requestsUsage && refusesStreamOptions(status, text)) {
      this.#requestsUsage = false;
      this.#isUsageRefused = true;
      return true;
    }
    // A member that is left out first: its refusal may say `reasoning`, too.
    return this.#leaveOut(status, text) || this.#fallBackInReasoning(status, text);
  }

  /** For this request only: whether a server accepts a member may depend on the model and on the prompt. */
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

  /** The server accepted the request. Only that proves that the removed parts were the reason for its refusals. */
  confirm(isStream: boolean): void {
    const knowledge = this.#knowledge;
    if (this.#isUsageRefused) knowledge.learn("streamUsage", "unsupported");
    else if (isStream && this.#requestsUsage && knowledge.native("streamUsage") === "unknown") {
      knowledge.learn("streamUsage", "supported");
    }
    if (this.#refusedNames.size > 0) knowledge.learnReasoning(this.#reasoning);
  }
}

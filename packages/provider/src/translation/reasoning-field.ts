import type { ChatMessage } from "./chat/chat-message.ts";

/** The fields servers use for a model's reasoning. Those that use both send the same text twice. */
export type ReasoningField = "reasoning_content" | "reasoning";

/** The field in which a server accepts reasoning sent back; `none`: it accepts none. */
export type AcceptedReasoning = ReasoningField | "none";

type AssistantMessage = Extract<ChatMessage, { role: "assistant" }>;

/** @param messages - as {@link ChatMessage} has them, with reasoning in `reasoning_content` */
export function hasReasoning(messages: readonly ChatMessage[]): boolean {
  return messages.some(isReasoned);
}

/** The same conversation with its reasoning in the form the server accepts. */
export function withReasoning(
  messages: readonly ChatMessage[],
  taken: AcceptedReasoning,
): object[] {
  return messages.flatMap((message): object[] => {
    if (!isReasoned(message)) return [message];
    const { reasoning_content: thought, ...rest } = message;
    if (taken !== "none") return [{ ...rest, [taken]: thought }];
    // Servers refuse an assistant message that says nothing.
    return rest.content === "" && rest.tool_calls === undefined ? [] : [rest];
  });
}

function isReasoned(message: ChatMessage): message is AssistantMessage {
  return message.role === "assistant" && message.reasoning_content !== undefined;
}

import type { ChatMessage } from "./chat/transcript.ts";

/** The names servers have for what a model thinks. Those that use both say the same twice. */
export type ReasoningField = "reasoning_content" | "reasoning";

/** How a server takes back what its model thought; `none`: not at all. */
export type AcceptedReasoning = ReasoningField | "none";

type AssistantMessage = Extract<ChatMessage, { role: "assistant" }>;

/** @param messages - as {@link ChatMessage} has them, with thoughts in `reasoning_content` */
export function hasReasoning(messages: readonly ChatMessage[]): boolean {
  return messages.some(isReasoned);
}

/** The same conversation with its thoughts as the server takes them. */
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

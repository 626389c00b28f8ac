/** One message of a chat request. */
export type ChatMessage =
  | { role: "system"; content: string }
  | { role: "user"; content: string | readonly ChatPart[] }
  | {
      role: "assistant";
      content: string | null;
      reasoning_content: string | undefined;
      tool_calls: readonly ChatToolCall[] | undefined;
    }
  | { role: "tool"; tool_call_id: string; content: string };

export interface ChatToolCall {
  id: string;
  type: "function";
  /** `arguments` is JSON text */
  function: { name: string; arguments: string };
}

export type ChatPart = { type: "text"; text: string } | ChatAttachment;

/** What a chat message holds beside text; only user messages may. */
export type ChatAttachment =
  | { type: "image_url"; image_url: { url: string; detail: string | undefined } }
  | { type: "input_audio"; input_audio: { data: string; format: string } }
  | {
      type: "file";
      file: {
        file_data: string | undefined;
        filename: string | undefined;
        file_id: string | undefined;
      };
    };

/** Text alone becomes a plain string: many model servers accept nothing else. */
export function chatContent(parts: readonly ChatPart[]): string | readonly ChatPart[] {
  return parts.every((part) => part.type === "text") ? joinedText(parts) : parts;
}

/** The text of all parts, with line breaks between them. */
export function joinedText(parts: readonly ChatPart[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

export function attachmentsOf(parts: readonly ChatPart[]): ChatAttachment[] {
  return parts.filter((part) => part.type !== "text");
}

/** The fields that servers use for a model's reasoning. A server that uses both sends the same text twice. */
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
    // Servers refuse an empty assistant message.
    return rest.content === "" && rest.tool_calls === undefined ? [] : [rest];
  });
}

function isReasoned(message: ChatMessage): message is AssistantMessage {
  return message.role === "assistant" && message.reasoning_content !== undefined;
}

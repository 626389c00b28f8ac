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

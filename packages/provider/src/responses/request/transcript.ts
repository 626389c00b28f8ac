import type {
  ChatAttachment,
  ChatMessage,
  ChatPart,
  ChatToolCall,
} from "../../translation/chat/chat-message.ts";

interface ToolResult {
  callId: string;
  text: string;
  /** not allowed in a tool message */
  attachments: readonly ChatAttachment[];
}

/** One assistant message with the results of its calls; only results if the call is missing. */
interface AssistantTurn {
  role: "assistant";
  reasoning: string[];
  texts: string[];
  calls: ChatToolCall[];
  results: ToolResult[];
}

type Turn = Extract<ChatMessage, { role: "system" | "user" }> | AssistantTurn;

/** Between the texts of different items. */
const betweenItems = "\n\n";

/**
 * Responses items, one after the other, as chat messages.
 *
 * A response is a list of items; in chat it is one assistant message, directly followed by the results of all its calls. So
 * calls are collected in one message, and each result is moved to its call. Everything else keeps its place.
 */
export class Transcript {
  /** Templates of several models accept only one system message, at the beginning. */
  readonly #leading: string[] = [];
  readonly #turns: Turn[] = [];
  readonly #turnOfCall = new Map<string, AssistantTurn>();
  /** the assistant message that later items may still join */
  #open: AssistantTurn | undefined;

  addSystem(text: string): void {
    if (this.#turns.length === 0) this.#leading.push(text);
    else this.#add({ role: "system", content: text });
  }

  addUser(content: string | readonly ChatPart[]): void {
    this.#add({ role: "user", content });
  }

  addAssistantText(text: string): void {
    this.#beforeText().texts.push(text);
  }

  addReasoning(text: string): void {
    this.#beforeText().reasoning.push(text);
  }

  addCall(call: ChatToolCall): void {
    const turn = this.#open ?? this.#openTurn();
    turn.calls.push(call);
    this.#turnOfCall.set(call.id, turn);
  }

  addToolResult(result: ToolResult): void {
    this.#open = undefined;
    const turn = this.#turnOfCall.get(result.callId);
    if (turn !== undefined) turn.results.push(result);
    else this.#add({ ...emptyTurn(), results: [result] });
  }

  messages(): ChatMessage[] {
    const system: ChatMessage[] =
      this.#leading.length === 0
        ? []
        : [{ role: "system", content: this.#leading.join(betweenItems) }];
    return system.concat(
      this.#turns.flatMap((turn) => (turn.role === "assistant" ? messagesOf(turn) : [turn])),
    );
  }

  #add(turn: Turn): void {
    this.#open = undefined;
    this.#turns.push(turn);
  }

  /** After text, only calls may join an assistant message; after calls, everything up to the first result. */
  #beforeText(): AssistantTurn {
    const turn = this.#open;
    if (turn === undefined) return this.#openTurn();
    return turn.texts.length > 0 && turn.calls.length === 0 ? this.#openTurn() : turn;
  }

  #openTurn(): AssistantTurn {
    const turn = emptyTurn();
    this.#turns.push(turn);
    this.#open = turn;
    return turn;
  }
}

function emptyTurn(): AssistantTurn {
  return { role: "assistant", reasoning: [], texts: [], calls: [], results: [] };
}

function messagesOf(turn: AssistantTurn): ChatMessage[] {
  const messages = spokenMessage(turn);
  for (const { callId, text } of turn.results) {
    messages.push({ role: "tool", tool_call_id: callId, content: text });
  }
  const attachments = turn.results.flatMap((result) => result.attachments);
  if (attachments.length > 0) messages.push({ role: "user", content: attachments });
  return messages;
}

/** Empty for a turn that has only results. */
function spokenMessage({ reasoning, texts, calls }: AssistantTurn): ChatMessage[] {
  if (reasoning.length + texts.length + calls.length === 0) return [];
  const isCallAlone = texts.length === 0 && calls.length > 0;
  return [
    {
      role: "assistant",
      content: isCallAlone ? null : texts.join(betweenItems),
      reasoning_content: reasoning.length === 0 ? undefined : reasoning.join(betweenItems),
      tool_calls: calls.length === 0 ? undefined : calls,
    },
  ];
}

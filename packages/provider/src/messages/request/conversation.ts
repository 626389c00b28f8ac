import {
  attachmentsOf,
  chatContent,
  type ChatMessage,
  type ChatPart,
  type ChatToolCall,
  joinedText,
} from "../../translation/chat/chat-message.ts";
import {
  eachOf,
  isAbsent,
  type PlacedObject,
  quoted,
  UntranslatableError,
  wrongType,
} from "../../translation/placed-object.ts";
import type { ToolNaming } from "../../translation/tool-naming.ts";
import {
  readBlocks,
  userParts,
  type PlacedBlock,
  unknownBlock,
  readReminder,
} from "./content-blocks.ts";
import { providerCallId } from "./call-ids.ts";

interface UserTurn {
  role: "user";
  results: ToolResult[];
  parts: ChatPart[];
}

type Turn = UserTurn | AssistantTurn;

export interface Conversation {
  messages: ChatMessage[];
  /** of the calls in it, as the client has them */
  callIds: ReadonlySet<string>;
  /** path of the last message, if it is the assistant's and the model is to continue it: `messages[4]` */
  prefillPath: string | undefined;
}

/**
 * The `messages` of a request as chat messages, in order. History is translated or refused, never left out.
 *
 * Consecutive messages of one role are joined, since many templates require alternating roles. The results of a message's
 * calls directly follow it.
 *
 * @param system - the text of the system prompt, empty when there is none
 * @throws UntranslatableError
 */
export function translateConversation(
  messages: unknown,
  system: string,
  naming: ToolNaming,
): Conversation {
  const turns = readTurns(messages, naming);
  const chat = turns.flatMap((turn, index) =>
    turn.role === "user" ? userMessages(turn, turns[index - 1]) : [assistantMessage(turn)],
  );
  const last = turns.at(-1);
  if (last?.role === "assistant") refuseOpenCalls(last, new Map());
  return {
    messages: system === "" ? chat : [{ role: "system", content: system }, ...chat],
    callIds: new Set(turns.flatMap((turn) => (turn.role === "user" ? [] : [...turn.calls.keys()]))),
    prefillPath: last?.role === "assistant" ? last.path : undefined,
  };
}

function readTurns(messages: unknown, naming: ToolNaming): Turn[] {
  if (!Array.isArray(messages)) throw wrongType("messages", "an array");
  if (messages.length === 0) {
    throw new UntranslatableError("messages is empty. Send at least one message.", "messages");
  }
  const reader = new TurnReader(naming);
  eachOf(messages, "messages", (message) => reader.read(message));
  return reader.end();
}

/** Joins messages of one role, and puts system messages inside the user's. */
class TurnReader {
  readonly #naming: ToolNaming;
  readonly #turns: Turn[] = [];
  /** system messages after an assistant message, for the next user message */
  #reminders: ChatPart[] = [];

  constructor(naming: ToolNaming) {
    this.#naming = naming;
  }

  read(message: PlacedObject): void {
    const { role, content } = message.value;
    const path = message.pathTo("content");
    switch (role) {
      case "user":
        return this.#readUser(content, path);
      case "assistant":
        return this.#readAssistant(content, message);
      case "system":
        return this.#readSystem(content, path);
      default:
        throw new UntranslatableError(
          `${message.path}.role must be user, assistant or system${typeof role === "string" ? `, not ${quoted(role)}` : ""}.`,
          message.pathTo("role"),
        );
    }
  }

  end(): Turn[] {
    if (this.#reminders.length > 0) this.#userTurn();
    return this.#turns;
  }

  #readUser(content: unknown, path: string): void {
    const turn = this.#userTurn();
    for (const placed of readBlocks(content, path)) {
      if (placed.type === "tool_result") turn.results.push(readToolResult(placed));
      else addEach(turn.parts, userParts(placed));
    }
  }

  #readAssistant(content: unknown, message: PlacedObject): void {
    const last = this.#turns.at(-1);
    // A user message must not separate a call from its result.
    const mayPart = last?.role !== "assistant" || last.calls.size === 0;
    if (this.#reminders.length > 0 && mayPart) this.#userTurn();
    const turn = this.#assistantTurn(message.path);
    for (const placed of readBlocks(content, message.pathTo("content"))) {
      readAssistantBlock(turn, placed, this.#naming);
    }
  }

  #readSystem(content: unknown, path: string): void {
    const reminder = readReminder(content, path);
    const last = this.#turns.at(-1);
    (last?.role === "user" ? last.parts : this.#reminders).push(reminder);
  }

  #userTurn(): UserTurn {
    const last = this.#turns.at(-1);
    if (last?.role === "user") return last;
    const turn: UserTurn = { role: "user", results: [], parts: this.#reminders };
    this.#reminders = [];
    this.#turns.push(turn);
    return turn;
  }

  #assistantTurn(path: string): AssistantTurn {
    const last = this.#turns.at(-1);
    if (last?.role === "assistant") return last;
    const turn: AssistantTurn = {
      role: "assistant",
      path,
      thoughts: [],
      texts: [],
      calls: new Map(),
    };
    this.#turns.push(turn);
    return turn;
  }
}

function assistantMessage({ thoughts, texts, calls }: AssistantTurn): ChatMessage {
  const isCallAlone = texts.length === 0 && calls.size > 0;
  return {
    role: "assistant",
    content: isCallAlone ? null : texts.join("\n\n"),
    reasoning_content: thoughts.length === 0 ? undefined : thoughts.join("\n\n"),
    tool_calls: calls.size === 0 ? undefined : [...calls.values()].map(({ call }) => call),
  };
}

/** The results in the order of their calls, then their attachments, which a tool message cannot hold, then the rest. */
function userMessages({ results, parts }: UserTurn, before: Turn | undefined): ChatMessage[] {
  const calls =
    before?.role === "assistant" ? before.calls : new Map<string, { call: ChatToolCall }>();
  const byId = new Map<string, ToolResult>();
  for (const result of results) {
    if (!calls.has(result.callId)) throw orphan(result);
    if (byId.has(result.callId)) throw repeated(result);
    byId.set(result.callId, result);
  }
  if (before?.role === "assistant") refuseOpenCalls(before, byId);
  const messages: ChatMessage[] = [];
  const attachments: ChatPart[] = [];
  for (const [id, { call }] of calls) {
    const result = byId.get(id);
    if (result === undefined) continue;
    const prefix = result.isError ? "Error: " : "";
    const content = prefix + joinedText(result.parts);
    messages.push({ role: "tool", tool_call_id: call.id, content });
    addEach(attachments, attachmentsOf(result.parts));
  }
  const rest = [...attachments, ...parts];
  if (rest.length > 0 || messages.length === 0) {
    messages.push({ role: "user", content: chatContent(rest) });
  }
  return messages;
}

/** A block may hold more parts than a call takes arguments, so they are not spread. */
function addEach(parts: ChatPart[], more: readonly ChatPart[]): void {
  for (const part of more) parts.push(part);
}

function orphan({ callId, path }: ToolResult): UntranslatableError {
  return new UntranslatableError(
    `${path}.tool_use_id names no tool_use block of the message before: ${quoted(callId)}. Send each result directly behind its call.`,
    `${path}.tool_use_id`,
  );
}

function repeated({ callId, path }: ToolResult): UntranslatableError {
  return new UntranslatableError(
    `${path} is the second result of the call ${quoted(callId)}. Send one result for each call.`,
    `${path}.tool_use_id`,
  );
}

/** @param results - by the client's id of their call */
function refuseOpenCalls({ calls }: AssistantTurn, results: ReadonlyMap<string, ToolResult>): void {
  for (const [id, { path }] of calls) {
    if (results.has(id)) continue;
    throw new UntranslatableError(
      `${path} has no result: the next message has no tool_result block for ${quoted(id)}. Send one.`,
      path,
    );
  }
}

/** The content of an assistant message. */
interface AssistantTurn {
  role: "assistant";
  /** of its first message */
  path: string;
  thoughts: string[];
  texts: string[];
  /** by the client's id for it, in order */
  calls: Map<string, { call: ChatToolCall; path: string }>;
}

/** Only the text of a thought is used; its signature is ignored, and encrypted thoughts are useless to another server. */
function readAssistantBlock(turn: AssistantTurn, placed: PlacedBlock, naming: ToolNaming): void {
  const { block, type } = placed;
  switch (type) {
    case "text": {
      const text = block.string("text");
      if (text !== "") turn.texts.push(text);
      return;
    }
    case "thinking": {
      const thought = block.optionalString("thinking") ?? "";
      if (thought !== "") turn.thoughts.push(thought);
      return;
    }
    case "redacted_thinking":
      return;
    case "tool_use":
      return readCall(turn, block, naming);
    default:
      throw unknownBlock(placed);
  }
}

function readCall(turn: AssistantTurn, block: PlacedObject, naming: ToolNaming): void {
  const { path } = block;
  const id = block.string("id");
  if (turn.calls.has(id)) {
    throw new UntranslatableError(
      `${path}.id is the id of another call in the same message: ${quoted(id)}. Give each call its own.`,
      `${path}.id`,
    );
  }
  const name = block.string("name");
  const { value: input } = block.object("input");
  const call: ChatToolCall = {
    id: providerCallId(id),
    type: "function",
    function: {
      name: naming.chatName({ kind: "function", name, namespace: undefined }),
      arguments: JSON.stringify(input),
    },
  };
  turn.calls.set(id, { call, path });
}

interface ToolResult {
  /** as the client has it */
  callId: string;
  parts: ChatPart[];
  isError: boolean;
  path: string;
}

/** An empty result has no content. */
function readToolResult({ block }: PlacedBlock): ToolResult {
  const { content } = block.value;
  const blocks = isAbsent(content) ? [] : readBlocks(content, block.pathTo("content"));
  return {
    callId: block.string("tool_use_id"),
    parts: blocks.flatMap(userParts),
    isError: block.optionalBoolean("is_error") ?? false,
    path: block.path,
  };
}

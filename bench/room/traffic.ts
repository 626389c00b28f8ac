import { crc32 } from "node:zlib";
import type { PromptBorder } from "../../packages/hub/src/domain/placement/warm-conversations.ts";
import { PromptBorders } from "../../packages/hub/src/inference/request/prompt-borders.ts";
import { exponential, logUniform } from "./random.ts";

export interface Turn {
  /** what the turn adds to the prompt */
  userBytes: number;
  responseTokens: number;
  /** from the end of the response to the next request */
  thinkMs: number;
}

/** One client: each request follows the response to the one before. */
export interface Conversation {
  id: number;
  /** conversations with the same number begin with the same system prompt */
  system: number;
  systemBytes: number;
  startMs: number;
  turns: readonly Turn[];
  /** of all its text; the prompt of a turn has those that are not longer than it */
  borders: readonly PromptBorder[];
}

/** One request on its way through the room. */
export interface RoomRequest {
  readonly conversation: Conversation;
  readonly turn: number;
  readonly promptBytes: number;
  readonly responseTokens: number;
  readonly arrivedMs: number;
}

export interface TrafficWish {
  conversations: number;
  turns: number;
  /** between the beginnings of two conversations, on average */
  arrivalMs: number;
  thinkMs: number;
}

export const bytesPerToken = 4;
const systemBytes = 2_048;
/** The first half of the conversations begin with the same system prompt. */
const sharedSystem = 0;

/** Conversations that begin at random times, with prompts that grow by user texts and earlier responses. */
export function traffic(random: () => number, wish: TrafficWish): Conversation[] {
  let startMs = 0;
  return Array.from({ length: wish.conversations }, (_, id) => {
    startMs += exponential(random, wish.arrivalMs);
    const turns = Array.from({ length: wish.turns }, () => ({
      userBytes: Math.round(logUniform(random, 200, 4_000)),
      responseTokens: Math.round(logUniform(random, 40, 400)),
      thinkMs: exponential(random, wish.thinkMs),
    }));
    const system = id < wish.conversations / 2 ? sharedSystem : id;
    return conversation({ id, system, startMs, turns });
  });
}

/** Requests of one size that all arrive at once, each of a conversation of its own. */
export function burst(count: number, turn: Turn): Conversation[] {
  return Array.from({ length: count }, (_, id) =>
    conversation({ id, system: id, startMs: 0, turns: [turn] }),
  );
}

export function requestOf(conversation: Conversation, turn: number, nowMs: number): RoomRequest {
  const { systemBytes: bytes, turns } = conversation;
  const responseTokens = turns[turn]?.responseTokens ?? 0;
  const promptBytes = promptBytesOf(bytes, turns, turn);
  return { conversation, turn, promptBytes, responseTokens, arrivedMs: nowMs };
}

function promptBytesOf(bytes: number, turns: readonly Turn[], turn: number): number {
  return turns
    .slice(0, turn + 1)
    .reduce(
      (sum, { userBytes }, index) => sum + userBytes + earlierResponseBytes(turns, index),
      bytes,
    );
}

function earlierResponseBytes(turns: readonly Turn[], turn: number): number {
  return (turns[turn - 1]?.responseTokens ?? 0) * bytesPerToken;
}

function conversation(made: Omit<Conversation, "borders" | "systemBytes">): Conversation {
  const bytes = promptBytesOf(systemBytes, made.turns, made.turns.length - 1);
  const reader = new PromptBorders(crc32);
  const text = Buffer.concat([
    Buffer.alloc(systemBytes, `system ${made.system};`),
    Buffer.alloc(bytes - systemBytes, `conversation ${made.id};`),
  ]);
  reader.push(text, 0, text.length);
  return { ...made, systemBytes, borders: reader.borders };
}

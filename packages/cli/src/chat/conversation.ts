import { nearest } from "../terminal/nearest.ts";
import type { ChatMessage } from "./request-answer.ts";

/** A prompt and its answer. */
interface Turn {
  prompt: string;
  /** may be incomplete; undefined when there is no text */
  answer: string | undefined;
  /** who answered, for people */
  by: string | undefined;
}

/** What a chat consists of; every change makes a new one. */
export interface Conversation {
  system: string | undefined;
  turns: readonly Turn[];
}

export const newConversation: Conversation = { system: undefined, turns: [] };

/** Begins a turn. A prompt without an answer is left out: many models require that roles alternate. */
export function asked(conversation: Conversation, prompt: string): Conversation {
  const turns = conversation.turns.filter(({ answer }) => answer !== undefined);
  return { ...conversation, turns: [...turns, { prompt, answer: undefined, by: undefined }] };
}

/** @returns undefined before the first prompt */
export function askedAgain(conversation: Conversation): Conversation | undefined {
  const last = conversation.turns.at(-1);
  if (last === undefined) return undefined;
  return asked({ ...conversation, turns: conversation.turns.slice(0, -1) }, last.prompt);
}

/** @param text - the last turn's answer; may be incomplete or empty */
export function answered(
  conversation: Conversation,
  text: string,
  by: string | undefined,
): Conversation {
  const last = conversation.turns.at(-1);
  if (last === undefined || text === "") return conversation;
  const turns = [...conversation.turns.slice(0, -1), { ...last, answer: text, by }];
  return { ...conversation, turns };
}

/** The messages of a request for the next answer. */
export function messagesOf({ system, turns }: Conversation): ChatMessage[] {
  const messages: ChatMessage[] = system === undefined ? [] : [{ role: "system", content: system }];
  for (const { prompt, answer } of turns) {
    messages.push({ role: "user", content: prompt });
    if (answer !== undefined) messages.push({ role: "assistant", content: answer });
  }
  return messages;
}

/** @param title - of the document */
export function asMarkdown({ system, turns }: Conversation, title: string): string {
  const parts = [`# ${title}`];
  if (system !== undefined) parts.push("## System", system);
  for (const { prompt, answer, by } of turns) {
    parts.push("## You", prompt);
    if (answer !== undefined) parts.push(`## ${by ?? "Answer"}`, answer.trim());
  }
  return `${parts.join("\n\n")}\n`;
}

/** The commands of a conversation, with what they take and do. */
export const commands = [
  { name: "model", takes: "[name]", does: "choose the model, or name one" },
  { name: "system", takes: "[text]", does: "set the system prompt; without a text, remove it" },
  { name: "save", takes: "[file]", does: "write the conversation to a new file" },
  { name: "retry", takes: "", does: "send the last message again" },
  { name: "clear", takes: "", does: "forget the conversation, but not the system prompt" },
  { name: "help", takes: "", does: "list the commands" },
  { name: "exit", takes: "", does: "leave; Ctrl+D does too" },
] as const;
type CommandName = (typeof commands)[number]["name"];

export type Line =
  | { kind: "empty" }
  | { kind: "message"; text: string }
  | { kind: "command"; name: CommandName; rest: string }
  | { kind: "unknown"; name: string; near: string | undefined };

/** A line of one word that begins with a slash, such as `/model`, is a command; `/etc/hosts` and ` /model` are text. */
export function readLine(text: string): Line {
  if (text.trim() === "") return { kind: "empty" };
  const [, word, rest = ""] = /^\/([a-zA-Z]+)(?:\s+([^]*))?$/.exec(text) ?? [];
  if (word === undefined) return { kind: "message", text };
  const name = word.toLowerCase();
  const found = commands.find((command) => command.name === name);
  if (found !== undefined) return { kind: "command", name: found.name, rest: rest.trim() };
  const names = commands.map((command): string => command.name);
  return { kind: "unknown", name: word, near: nearest(name, names) };
}

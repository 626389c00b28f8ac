import { type Invite, isHubUnreachableError, isRoomhubError } from "@roomhub/client";
import { type Room, readContextRefusal } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import { explainUnknownRoom } from "../rooms/choose-room.ts";
import { cutTo, displayWidth, padTo } from "../terminal/display-width.ts";
import { renderError } from "../terminal/render-error.ts";
import { clockTime, type Colors, colorsFor, countOf, safe } from "../terminal/text.ts";
import { answerLine, createAnswerPrinter, whoAnswered } from "./answer-printer.ts";
import {
  answered,
  asked,
  askedAgain,
  asMarkdown,
  commands,
  type Conversation,
  type Line,
  messagesOf,
  newConversation,
  readLine,
} from "./conversation.ts";
import { modelChoices } from "./model-choices.ts";
import { type AnswerHead, requestAnswer } from "./request-answer.ts";
import type { ChatSurface } from "./response-reader.ts";

/** Cells that a prompt needs beside a choice. */
const besideLabel = 6;

export interface ChatSessionOptions extends Invite {
  surface: ChatSurface;
  /** a value of the `model` field; undefined to choose one */
  model: string | undefined;
  /** of the person */
  as: string;
}

/** A conversation at a terminal, until the person leaves. Later errors than those before the first prompt are printed, not thrown. */
export async function runChatSession(
  context: CliContext,
  options: ChatSessionOptions,
): Promise<void> {
  const room = await findRoom(context, options);
  const session = new ChatSession(context, room, options);
  await session.begin(options.model);
  const release = context.onStopSignal((signal) => session.onStopSignal(signal));
  try {
    await session.run();
  } finally {
    release();
  }
}

async function findRoom(context: CliContext, invite: Invite): Promise<Room> {
  try {
    return await context.createClient(invite.hubUrl).getRoom(invite.room);
  } catch (error) {
    if (!isRoomhubError(error, "room_not_found")) throw error;
    throw await explainUnknownRoom(context, invite, error, "chat");
  }
}

class ChatSession {
  readonly #context: CliContext;
  readonly #room: Room;
  readonly #options: ChatSessionOptions;
  readonly #colors: Colors;
  readonly #leaving = new AbortController();
  /** The same for the whole conversation. */
  #id: string;
  #conversation: Conversation = newConversation;
  #model = "*";
  /** the last one first */
  #history: readonly string[] = [];
  /** of the answer that streams */
  #answering: AbortController | undefined;

  constructor(context: CliContext, room: Room, options: ChatSessionOptions) {
    this.#context = context;
    this.#id = context.world.randomUUID();
    this.#room = room;
    this.#options = options;
    this.#colors = colorsFor(context, context.stderr);
  }

  async begin(model: string | undefined): Promise<void> {
    const { hubUrl } = this.#options;
    this.#say(`Room ${safe(this.#room.code)} (${safe(this.#room.name)}) at ${hubUrl}`);
    if (model === undefined) await this.#chooseModel();
    else this.#setModel(model);
    this.#dim("/help lists the commands, Ctrl+C stops an answer, Ctrl+D leaves");
  }

  async run(): Promise<void> {
    let isLastEmpty = false;
    while (!this.#leaving.signal.aborted) {
      const { prompts } = this.#context;
      const typed = await prompts.readMessage(this.#history, this.#leaving.signal);
      if (typed.kind === "ended") return;
      if (typed.kind === "interrupted") {
        if (typed.wasEmpty && isLastEmpty) return;
        if (typed.wasEmpty) this.#dim("Ctrl+C again, Ctrl+D or /exit leaves");
        isLastEmpty = typed.wasEmpty;
        continue;
      }
      isLastEmpty = false;
      const line = readLine(typed.text);
      if (line.kind !== "empty") this.#remember(typed.text);
      if (line.kind === "command" && line.name === "exit") return;
      await this.#obey(line);
    }
  }

  /** Ctrl+C while an answer streams stops the answer; other signals, and SIGINT from elsewhere, end the conversation. */
  onStopSignal(signal: NodeJS.Signals): void {
    if (signal === "SIGINT" && this.#answering !== undefined) this.#answering.abort();
    else this.#leaving.abort();
  }

  async #obey(line: Line): Promise<void> {
    switch (line.kind) {
      case "empty":
        return;
      case "message":
        return this.#ask(asked(this.#conversation, line.text));
      case "unknown": {
        const near = line.near === undefined ? "" : ` Did you mean /${line.near}?`;
        return this.#say(`/${safe(line.name)} is not a command.${near} /help lists them`);
      }
      case "command":
        return this.#command(line);
    }
  }

  async #command({ name, rest }: Line & { kind: "command" }): Promise<void> {
    switch (name) {
      case "model":
        return this.#changeModel(rest);
      case "system":
        return this.#setSystem(rest);
      case "save":
        return this.#save(rest);
      case "retry": {
        const again = askedAgain(this.#conversation);
        return again === undefined ? this.#say("Nothing was sent yet") : this.#ask(again);
      }
      case "clear":
        this.#conversation = { ...newConversation, system: this.#conversation.system };
        this.#id = this.#context.world.randomUUID();
        return this.#say("The conversation is empty");
      case "help":
        for (const { name: word, takes, does } of commands) {
          this.#say(`  ${`/${word} ${takes}`.padEnd("/system [text]  ".length)}${does}`);
        }
        return this.#say("  A line that ends with \\ goes on in the next one; so do pasted lines");
      case "exit":
        return;
    }
  }

  async #ask(conversation: Conversation): Promise<void> {
    this.#conversation = conversation;
    const { hubUrl, surface, as } = this.#options;
    const request = {
      ...{ hubUrl, room: this.#room.code, surface, as },
      ...{ model: this.#model, session: this.#id, messages: messagesOf(conversation) },
    };
    const printer = createAnswerPrinter(this.#context);
    const answering = new AbortController();
    this.#answering = answering;
    const signal = AbortSignal.any([answering.signal, this.#leaving.signal]);
    // While it streams, other keys than Ctrl+C and Ctrl+Z do nothing.
    const releaseKeys = this.#context.onKey(() => {});
    let head: AnswerHead | undefined;
    const listener = { ...printer, onHead: (one: AnswerHead) => (head = one) };
    try {
      const answer = await requestAnswer(this.#context, request, listener, signal);
      printer.endLine();
      this.#dim(answerLine(answer, this.#context.stderr.columns ?? 80));
    } catch (error) {
      printer.endLine();
      if (signal.aborted) {
        const who = head === undefined ? "" : `${whoAnswered(head)}, `;
        this.#dim(`— ${who}stopped; /retry sends it again`);
      } else this.#explain(inBrief(error), "/retry sends it again, /model chooses another model");
    } finally {
      releaseKeys();
      this.#answering = undefined;
      this.#say("");
    }
    this.#conversation = answered(conversation, printer.text(), head?.participantId);
  }

  async #changeModel(name: string): Promise<void> {
    try {
      if (name === "") await this.#chooseModel();
      else await this.#nameModel(name);
    } catch (error) {
      // A cancelled choice changes nothing.
      if (!(error instanceof CommandError)) this.#explain(error, "/model tries again");
    }
  }

  async #chooseModel(): Promise<void> {
    const { hubUrl } = this.#options;
    const client = this.#context.createClient(hubUrl);
    const choices = await modelChoices(this.#context.world, client, this.#room.code);
    const [first] = choices;
    if (first === undefined) {
      this.#model = "*";
      const url = `${hubUrl}/rooms/${this.#room.code}`;
      this.#say(
        `! The room has no model to chat with. Share one: ${this.#context.commandName} join ${url}`,
      );
      return;
    }
    if (choices.length === 1) {
      this.#model = first.selector;
      return this.#say(`Model ${first.name} from ${first.facts}`);
    }
    const columns = this.#context.stderr.columns ?? 80;
    const width = Math.max(...choices.map(({ name }) => displayWidth(name)));
    this.#model = await this.#context.prompts.pickOne(
      "Select a model",
      choices.map(({ selector, name, facts }) => ({
        value: selector,
        label: cutTo(`${padTo(name, width)}  ${facts}`, columns - besideLabel),
      })),
    );
  }

  async #nameModel(model: string): Promise<void> {
    const client = this.#context.createClient(this.#options.hubUrl);
    const { refusal } = await client.explainRoute(this.#room.code, { model });
    if (refusal !== undefined) {
      return this.#explain(new CommandError(refusal.message), "/model lists the models");
    }
    this.#setModel(model);
  }

  #setModel(model: string): void {
    this.#model = model;
    this.#say(`Model ${safe(model)}`);
  }

  #setSystem(text: string): void {
    const had = this.#conversation.system !== undefined;
    this.#conversation = { ...this.#conversation, system: text === "" ? undefined : text };
    if (text !== "") this.#say("The system prompt is set");
    else this.#say(had ? "The system prompt is removed" : "/system TEXT sets a system prompt");
  }

  async #save(file: string): Promise<void> {
    const { turns } = this.#conversation;
    if (turns.length === 0) return this.#say("Nothing was sent yet");
    const { code, name } = this.#room;
    const path = file === "" ? newFileName(code, this.#context.world.wallMs()) : file;
    try {
      const text = asMarkdown(this.#conversation, `Room ${code} (${name})`);
      await this.#context.createFile(path, text);
      this.#say(`Saved ${countOf(turns.length, "message")} and what was answered in ${safe(path)}`);
    } catch (error) {
      const { code: reason, message } = error as NodeJS.ErrnoException;
      const what = reason === "EEXIST" ? "it exists" : message;
      this.#explain(new CommandError(`${path} was not saved: ${what}`), "/save FILE names another");
    }
  }

  #remember(text: string): void {
    this.#history = [text, ...this.#history.filter((earlier) => earlier !== text)].slice(0, 200);
  }

  #explain(error: unknown, next: string): void {
    const isExpected =
      error instanceof CommandError || isRoomhubError(error) || isHubUnreachableError(error);
    if (!isExpected) throw error;
    const { hubUrl } = this.#options;
    renderError(this.#context, error, { isVerbose: false, hubUrl });
    this.#dim(next);
  }

  #say(text: string): void {
    this.#context.stderr.write(`${text}\n`);
  }

  #dim(text: string): void {
    this.#say(this.#colors.dim(text));
  }
}

/** `chat-ABC234-2026-01-02-030405.md`, in local time */
function newFileName(code: string, nowMs: number): string {
  // The Swedish form of a date is that of ISO 8601.
  const day = new Date(nowMs).toLocaleDateString("sv");
  return `chat-${code}-${day}-${clockTime(nowMs).replaceAll(":", "")}.md`;
}

/**
 * One line and the next step: the participants that a refusal lists would fill the screen. A conversation that has grown
 * beyond the model's context gets advice.
 */
function inBrief(error: unknown): unknown {
  if (!(error instanceof CommandError) && !isRoomhubError(error)) return error;
  const { message, hint } = error;
  const code = isRoomhubError(error) ? error.code : undefined;
  const refusal = readContextRefusal(JSON.stringify({ error: { message, code } }));
  const advice = "the conversation is too long for the model: /clear forgets it";
  return new CommandError(message, refusal === undefined ? hint : advice);
}

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { badResponses } from "../../support/providers/bad-responses.ts";
import type { BadMood, Mood, PlannedAgent, PlannedRequest } from "../plan.ts";

/** What a client asks of a scripted model server, in the first line of its only message. */
export interface Script {
  tag: string;
  tokens: number;
  gapMs: number;
  tokenBytes: number;
}

const formPauseMs = 5;

interface ChatRequest {
  messages?: { content: string }[];
  stream?: boolean;
}

/** One generation, from the server's side. */
export interface Generation {
  tag: string;
  server: string;
  /** the text of the request */
  prompt: string;
  beganMs: number;
  endedMs: number | undefined;
  /** of a whole response, by a server that reports its usage; else 0 */
  reportedTokens: number;
  /** when each word of a stream was written */
  wordsMs: number[];
  end: "complete" | "cancelled" | "broken" | "running" | "bad";
  /** of one that is `bad`: the name of the response in its place */
  sent: string | undefined;
}

/** The text of a request for it. @param bytes - at least so many */
export function promptOf({ tag, tokens, gapMs, tokenBytes }: Script, bytes: number): string {
  let prompt = JSON.stringify({ tag, tokens, gapMs, tokenBytes });
  for (let line = 0; prompt.length < bytes; line++) prompt += `\n${tag}.${line}`.padEnd(100, "-");
  return prompt;
}

/** What a tokenizer makes of a prompt. */
function tokensOf(prompt: string): number {
  return Math.ceil(prompt.replaceAll(/-+/g, "-").length / 4);
}

/** Whether the model server's context is large enough for the request. Forms count for none. */
export function hasRoomFor({ context }: Pick<PlannedAgent, "context">, planned: PlannedRequest) {
  if (context === undefined || planned.isForm) return true;
  return tokensOf(promptOf(planned, planned.promptBytes)) < context.tokens;
}

/** As llama.cpp says it. */
function tooLongFor(context: number, prompt: number): object {
  const message = `request (${prompt} tokens) exceeds the available context size (${context} tokens), try increasing it`;
  const type = "exceed_context_size_error";
  return { error: { code: 400, message, type, n_prompt_tokens: prompt, n_ctx: context } };
}

/** The text that a script leads to, wherever it is generated. */
export function textOf(script: Script): string {
  return Array.from({ length: script.tokens }, (_, index) => wordOf(script, index)).join("");
}

function usageOf({ tokens }: Script) {
  return { prompt_tokens: 1, completion_tokens: tokens, total_tokens: 1 + tokens };
}

function wordOf({ tag, tokenBytes }: Script, index: number): string {
  return `${tag}.${index} `.padEnd(tokenBytes, "-");
}

/** A model server that does what each request says, and keeps a record of what it generated. */
export class ScriptedServer {
  readonly name: string;
  readonly generations: Generation[] = [];
  /** prompts that were too long for its context, each time */
  readonly refused: { tag: string; atMs: number }[] = [];
  mood: Mood | undefined;
  mostAtOnce = 0;
  readonly #model: string;
  readonly #reportsUsage: boolean;
  readonly #context: PlannedAgent["context"];
  readonly #nowMs: () => number;
  #running = 0;

  constructor({ name, model, budget, context }: PlannedAgent, nowMs: () => number) {
    this.name = name;
    this.#model = model;
    this.#reportsUsage = budget !== undefined;
    this.#context = context;
    this.#nowMs = nowMs;
  }

  /** To be called on its machine, again after a restart. */
  listen(port: number): void {
    createServer((request, response) => this.#serve(request, response)).listen(port);
  }

  /** Its process has ended, and with it what it generated. */
  killed(): void {
    this.#running = 0;
    for (const generation of this.generations) {
      if (generation.end !== "running") continue;
      generation.end = "broken";
      generation.endedMs = this.#nowMs();
    }
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    if (this.mood === "down") return void request.socket.destroy();
    if (isBad(this.mood) && this.mood.isEverywhere && request.method === "GET")
      return sendBad(response, this.mood);
    if (this.mood === "loading")
      return sendJson(response, 503, {
        error: { message: "Loading model", type: "unavailable_error", code: 503 },
      });
    if (this.mood === "unauthorised")
      return sendJson(response, 401, { error: { message: "no key" } });
    if (request.url === "/v1/models") {
      const meta =
        this.#context?.isReported === true ? { meta: { n_ctx: this.#context.tokens } } : {};
      return sendJson(response, 200, {
        object: "list",
        data: [{ id: this.#model, object: "model", ...meta }],
      });
    }
    const isForm = request.url === "/v1/audio/transcriptions";
    if (!isForm && request.url !== "/v1/chat/completions")
      return sendJson(response, 404, { error: { message: "no such path" } });
    if (this.mood === "overloaded")
      return sendJson(response, 503, { error: { message: "too many requests" } });
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => {
      parts.push(part);
      if (!isForm) return;
      // As one that writes it to its disk: those before it have to wait.
      request.pause();
      setTimeout(() => request.resume(), formPauseMs);
    });
    request.on("end", () => {
      const body = Buffer.concat(parts).toString();
      if (isForm) return this.#generate(fileOf(body), "transcription", response);
      const { messages, stream } = JSON.parse(body) as ChatRequest;
      const [message] = messages ?? [];
      // An agent finds out with an empty request which paths there are.
      if (message === undefined)
        return sendJson(response, 400, { error: { message: "no messages" } });
      this.#generate(message.content, stream === true ? "stream" : "completion", response);
    });
  }

  #generate(
    prompt: string,
    form: "stream" | "completion" | "transcription",
    response: ServerResponse,
  ): void {
    const isStream = form === "stream";
    const [line = ""] = prompt.split("\n", 1);
    const script = JSON.parse(line) as Script;
    if (form !== "transcription" && this.#context !== undefined) {
      const count = tokensOf(prompt);
      if (count >= this.#context.tokens) {
        this.refused.push({ tag: script.tag, atMs: this.#nowMs() });
        return sendJson(response, 400, tooLongFor(this.#context.tokens, count));
      }
    }
    const generation: Generation = {
      tag: script.tag,
      server: this.name,
      prompt,
      beganMs: this.#nowMs(),
      endedMs: undefined,
      reportedTokens: 0,
      wordsMs: [],
      end: "running",
      sent: undefined,
    };
    this.generations.push(generation);
    if (isBad(this.mood)) {
      Object.assign(generation, { end: "bad", endedMs: this.#nowMs(), sent: this.mood.sends });
      return sendBad(response, this.mood);
    }
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#running);
    let timer: NodeJS.Timeout | undefined;
    const end = (how: Generation["end"]) => {
      if (generation.end !== "running") return;
      generation.end = how;
      generation.endedMs = this.#nowMs();
      this.#running--;
      clearTimeout(timer);
      socket?.off("end", cancelled);
    };
    const cancelled = () => end("cancelled");
    response.on("close", cancelled);
    // The end of the connection may come while what was written before waits for its system.
    const { socket } = response;
    socket?.on("end", cancelled);
    let index = 0;
    const next = (): void => {
      if (generation.end !== "running") return;
      if (this.mood === "breaks" && index > script.tokens / 2) {
        end("broken");
        response.destroy();
        return;
      }
      if (index < script.tokens) {
        const hasRoom =
          !isStream || response.write(chunkOf(script.tag, this.#model, wordOf(script, index)));
        if (isStream) generation.wordsMs.push(this.#nowMs());
        index++;
        const wait = () => void (timer = setTimeout(next, script.gapMs));
        if (hasRoom) wait();
        else response.once("drain", wait);
        return;
      }
      end("complete");
      if (form === "transcription") return sendJson(response, 200, { text: textOf(script) });
      const usage = this.#reportsUsage ? usageOf(script) : undefined;
      generation.reportedTokens = usage?.total_tokens ?? 0;
      const reported = usage === undefined ? {} : { usage };
      if (isStream) response.end(lastChunkOf(script.tag, this.#model, reported));
      else sendJson(response, 200, { ...completionOf(script, this.#model), ...reported });
    };
    if (isStream) response.writeHead(200, { "content-type": "text/event-stream" });
    timer = setTimeout(next, script.gapMs);
  }
}

function isBad(mood: Mood | undefined): mood is BadMood {
  return typeof mood === "object";
}

function sendBad({ socket }: ServerResponse, { sends }: BadMood): void {
  socket?.end(badResponses.find(({ name }) => name === sends)!.bytes);
}

/** The content of its last part. */
function fileOf(form: string): string {
  const end = form.lastIndexOf("\r\n--");
  return form.slice(form.lastIndexOf("\r\n\r\n", end) + 4, end);
}

function chunkOf(id: string, model: string, content: string): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: null }];
  return `data: ${JSON.stringify({ id, object: "chat.completion.chunk", created: 1, model, choices })}\n\n`;
}

function lastChunkOf(id: string, model: string, reported: object): string {
  const choices = [{ index: 0, delta: {}, finish_reason: "stop" }];
  const chunk = { id, object: "chat.completion.chunk", created: 1, model, choices, ...reported };
  return `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
}

function completionOf(script: Script, model: string): object {
  const message = { role: "assistant", content: textOf(script) };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  return { id: script.tag, object: "chat.completion", created: 1, model, choices };
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}

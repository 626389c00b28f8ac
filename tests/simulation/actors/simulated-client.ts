import { type ClientRequest, request } from "node:http";
import type { PlannedRequest } from "../plan.ts";
import { promptOf } from "./scripted-server.ts";

/** How a request ended for its client. */
export interface Outcome {
  tag: string;
  isStream: boolean;
  /** `refused`: no connection; `cut`: it broke before the response was whole; `left`: the client closed it */
  end: "complete" | "error" | "cut" | "left" | "refused" | "open";
  status: number | undefined;
  requestId: string | undefined;
  /** The response ended in order, whatever it has. */
  isClosed: boolean;
  /** of the error body or frame */
  code: string | undefined;
  text: string;
  sentMs: number;
  endedMs: number | undefined;
  /** in which it read nothing, those that have begun */
  pauses: Pause[];
}

/** A time in which a client read nothing. */
interface Pause {
  fromMs: number;
  toMs: number;
  /** of the body, until then */
  readBytes: number;
}

/** A client that reads nothing for so long is disconnected. Contract §6. */
export const stallMs = 60_000;

/** It reads nothing for longer than its hub allows. */
export function hasStalled({ pauses }: Outcome): boolean {
  return pauses.some(({ fromMs, toMs }) => toMs - fromMs > stallMs);
}

/** Sends it from the machine that runs now. */
export function sendPlanned(
  planned: PlannedRequest,
  at: { host: string; port: number; room: string },
  nowMs: () => number,
): Outcome {
  const { tag, isStream, isForm, leavesAfterMs } = planned;
  const priority = planned.isBatch ? { "x-roomhub-priority": "batch" } : {};
  const outcome: Outcome = {
    ...{ tag, isStream, end: "open", status: undefined, requestId: undefined, code: undefined },
    ...{ isClosed: false, text: "", sentMs: nowMs(), endedMs: undefined, pauses: [] },
  };
  const finish = (end: Outcome["end"]): void => {
    if (outcome.end !== "open") return;
    outcome.end = end;
    outcome.endedMs = nowMs();
  };
  const { type, path, body } = bodyOf(planned);
  const sent = request({
    ...{ host: at.host, port: at.port, method: "POST", agent: false },
    path: `/rooms/${at.room}/v1/${path}`,
    headers: {
      "content-type": type,
      // A form may come without it, in chunks.
      ...(isForm && body.length % 2 === 0 ? {} : { "content-length": body.length }),
      ...priority,
    },
  });
  sent.on("error", () =>
    finish(sent.reusedSocket || sent.socket?.connecting === false ? "cut" : "refused"),
  );
  sent.on("response", (response) => {
    outcome.status = response.statusCode;
    outcome.requestId = String(response.headers["x-request-id"]);
    let bytes = "";
    response.setEncoding("utf8");
    const pauses = [...planned.pauses];
    response.on("data", (part: string) => {
      bytes += part;
      const [next] = pauses;
      if (next === undefined || bytes.length < next.afterBytes) return;
      pauses.shift();
      const fromMs = nowMs();
      outcome.pauses.push({ fromMs, toMs: fromMs + next.forMs, readBytes: bytes.length });
      response.pause();
      setTimeout(() => response.resume(), next.forMs);
    });
    response.on("error", () => finish("cut"));
    response.on("close", () => {
      // A model server may respond with JSON although a stream was requested.
      const isJson = response.headers["content-type"]?.startsWith("application/json") === true;
      readInto(outcome, isJson ? [bytes] : eventsOf(bytes));
      outcome.isClosed = response.complete;
      const hasEnd = !isStream || isJson || bytes.includes("data: [DONE]");
      const isWhole = response.complete && hasEnd;
      if (outcome.code !== undefined || (outcome.status ?? 0) >= 400) finish("error");
      else finish(isWhole ? "complete" : "cut");
    });
  });
  if (isForm) sendSlowly(sent, body);
  else sent.end(body);
  if (leavesAfterMs !== undefined) {
    setTimeout(() => {
      finish("left");
      sent.destroy();
    }, leavesAfterMs);
  }
  return outcome;
}

/** What is sent where. */
function bodyOf(planned: PlannedRequest): { type: string; path: string; body: Buffer } {
  const { selector: model, isStream, isForm, promptBytes } = planned;
  const prompt = promptOf(planned, promptBytes);
  if (!isForm) {
    const messages = [{ role: "user", content: prompt }];
    const body = Buffer.from(JSON.stringify({ model, messages, stream: isStream }));
    return { type: "application/json", path: "chat/completions", body };
  }
  const part = (name: string, text: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
  const body = Buffer.from(`${part("model", model)}${part("file", prompt)}--${boundary}--\r\n`);
  const type = `multipart/form-data; boundary=${boundary}`;
  return { type, path: "audio/transcriptions", body };
}

const boundary = "simulated";
const pieces = 5;
const pieceMs = 30;

function sendSlowly(sent: ClientRequest, body: Buffer): void {
  const size = Math.ceil(body.length / pieces);
  let at = 0;
  const next = (): void => {
    if (sent.destroyed) return;
    const piece = body.subarray(at, (at += size));
    if (at >= body.length) return void sent.end(piece);
    sent.write(piece);
    setTimeout(next, pieceMs);
  };
  next();
}

interface Frame {
  /** of a transcription */
  text?: string;
  choices?: { delta?: { content?: string }; message?: { content?: string } }[];
  error?: { code?: string };
}

function readInto(outcome: Outcome, frames: readonly string[]): void {
  for (const text of frames) {
    const frame = parse(text);
    const [choice] = frame?.choices ?? [];
    outcome.text += choice?.delta?.content ?? choice?.message?.content ?? frame?.text ?? "";
    if (frame?.error !== undefined) outcome.code = frame.error.code ?? "unnamed";
  }
}

function eventsOf(bytes: string): string[] {
  return bytes
    .split("\n")
    .filter((line) => line.startsWith("data: ") && line !== "data: [DONE]")
    .map((line) => line.slice(6));
}

function parse(text: string): Frame | undefined {
  try {
    return JSON.parse(text) as Frame;
  } catch {
    // A response that was cut ends anywhere.
    return undefined;
  }
}

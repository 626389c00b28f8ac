import type { IncomingMessage } from "node:http";
import { HubError } from "../errors.ts";

export interface BodyLimits {
  maxBytes: number;
  /** Name of the limit to turn, for the message. */
  knob: string;
  /** ms without a byte */
  idleMs: number;
  /** ms for the whole body */
  totalMs: number;
}

/** A fast sender gets so much read in one turn of the event loop; then others have theirs. */
const maxTurnBytes = 512 * 1024;

/**
 * Reads a request's body, chunk by chunk. Limits are enforced while reading, whatever content-length says.
 *
 * @param onChunk - may throw: reading then ends with that error
 * @param onOver - once, never before this returns: without an error when the body was whole; else what `onChunk` threw, or
 *   a HubError `request_too_large`, `request_read_timeout` or `client_disconnected`
 */
export function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  onChunk: (chunk: Buffer) => void,
  onOver: (error?: unknown) => void,
): void {
  const announced = Number(request.headers["content-length"] ?? 0);
  let length = 0;
  let turnBytes = 0;
  let isOver = false;
  let total: NodeJS.Timeout | undefined;
  let idle: NodeJS.Timeout | undefined;
  if (announced > limits.maxBytes) {
    queueMicrotask(() => finish(tooLarge(limits)));
    return;
  }
  // Most bodies came with their head: then there is nothing to wait for.
  queueMicrotask(() => {
    if (isOver || request.complete) return;
    total = setTimeout(() => finish(tooSlow()), limits.totalMs);
    idle = setTimeout(() => finish(tooSlow()), limits.idleMs);
  });

  // The listeners stay: to take them off costs more than to let them look at a flag.
  function finish(error?: unknown): void {
    if (isOver) return;
    isOver = true;
    clearTimeout(total);
    clearTimeout(idle);
    if (error !== undefined) request.pause();
    onOver(error);
  }
  function onData(chunk: Buffer): void {
    if (isOver) return;
    idle?.refresh();
    length += chunk.length;
    if (length > limits.maxBytes) {
      finish(tooLarge(limits));
      return;
    }
    try {
      onChunk(chunk);
    } catch (error) {
      finish(error);
      return;
    }
    turnBytes += chunk.length;
    if (turnBytes > maxTurnBytes) {
      request.pause();
      setImmediate(goOn);
    }
  }
  function goOn(): void {
    turnBytes = 0;
    if (!isOver) request.resume();
  }
  function onEnd(): void {
    finish();
  }
  function onClose(): void {
    if (isOver) return;
    finish(new HubError("client_disconnected", "The client went away while sending its request."));
  }
  request.on("data", onData).on("end", onEnd).on("close", onClose);
}

/** A management body, decoded. @throws HubError `invalid_json`, also for an empty one */
export async function readJson(request: IncomingMessage, limits: BodyLimits): Promise<unknown> {
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    const onOver = (error?: unknown) => (error === undefined ? resolve() : reject(error));
    readBody(request, limits, (chunk) => chunks.push(chunk), onOver);
  });
  const text = Buffer.concat(chunks).toString("utf8");
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new HubError(
      "invalid_json",
      text === ""
        ? "The request body is empty; it must be a JSON object."
        : "The request body is not valid JSON.",
      { hint: `In a shell, put it into single quotes: curl … -d '{"name":"lab"}'` },
    );
  }
}

function tooLarge(limits: BodyLimits): HubError {
  return new HubError(
    "request_too_large",
    `The request body is larger than ${limits.maxBytes} bytes (limit ROOMHUB_${limits.knob}).`,
    { hint: `Send less, or the host raises it: ROOMHUB_${limits.knob}=… roomhub serve` },
  );
}

function tooSlow(): HubError {
  return new HubError("request_read_timeout", "The request body did not arrive in time.");
}

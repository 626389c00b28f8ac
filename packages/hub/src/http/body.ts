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
 * @throws HubError `request_too_large`, `request_read_timeout`, `client_disconnected`
 */
export function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const announced = Number(request.headers["content-length"] ?? 0);
    if (announced > limits.maxBytes) {
      reject(tooLarge(limits));
      return;
    }
    let length = 0;
    let turnBytes = 0;
    let isOver = false;
    let total: NodeJS.Timeout | undefined;
    let idle: NodeJS.Timeout | undefined;
    // Most bodies came with their head: then there is nothing to wait for.
    queueMicrotask(() => {
      if (isOver || request.complete) return;
      total = setTimeout(() => finish(tooSlow()), limits.totalMs);
      idle = setTimeout(() => finish(tooSlow()), limits.idleMs);
    });

    function finish(error?: unknown): void {
      isOver = true;
      clearTimeout(total);
      clearTimeout(idle);
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      if (error === undefined) {
        resolve();
        return;
      }
      request.pause();
      reject(error);
    }
    function onData(chunk: Buffer): void {
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
      finish(
        new HubError("client_disconnected", "The client went away while sending its request."),
      );
    }
    request.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

/** A management body, decoded. @throws HubError `invalid_json`, also for an empty one */
export async function readJson(request: IncomingMessage, limits: BodyLimits): Promise<unknown> {
  const chunks: Buffer[] = [];
  await readBody(request, limits, (chunk) => chunks.push(chunk));
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

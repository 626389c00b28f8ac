import type {
  ProviderCall,
  ProviderRequest,
  ProviderSink,
  ResponseHead,
} from "../call/provider-call.ts";
import type { ProviderFailure } from "../call/failure.ts";

export type CallProvider = (request: ProviderRequest, sink: ProviderSink) => ProviderCall;

/** What one short question found. */
export interface QueryResult {
  /** undefined when no response came */
  head: ResponseHead | undefined;
  /** what came of it, at most 1 MiB */
  body: Buffer;
  /** why the response is not whole; undefined when it is */
  problem:
    | { kind: "timeout"; isAccepted: boolean }
    | { kind: "too-large" }
    | { kind: "failed"; failure: ProviderFailure }
    | undefined;
}

/** Sends one query at a time. @returns undefined when there is no next query, or the response is not whole */
export type Query = (
  method: "GET" | "POST",
  baseUrl: string,
  path: string,
) => Promise<QueryResult | undefined>;

const maxBodyBytes = 1024 * 1024;

/** Sends a request that a provider can respond to at once. Never throws; resolves within `timeoutMs`. */
export function query(
  call: CallProvider,
  request: ProviderRequest,
  timeoutMs: number,
): Promise<QueryResult> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    let head: ResponseHead | undefined;
    const timer = setTimeout(() => {
      giveUp({ kind: "timeout", isAccepted: running.isAccepted === true });
    }, timeoutMs);
    const running = call(request, {
      onHead(received) {
        head = received;
      },
      onData(chunk) {
        bytes += chunk.length;
        if (bytes <= maxBodyBytes) parts.push(chunk);
        else giveUp({ kind: "too-large" });
        return true;
      },
      onEnd: () => finish(undefined),
      onFailure: (failure) => finish({ kind: "failed", failure }),
      onClosed() {},
    });

    function giveUp(problem: QueryResult["problem"]): void {
      running.cancel();
      finish(problem);
    }

    function finish(problem: QueryResult["problem"]): void {
      clearTimeout(timer);
      resolve({ head, body: Buffer.concat(parts), problem });
    }
  });
}

/** The JSON object a body is, or undefined: an HTML page, a list or nothing at all. */
export function objectIn(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

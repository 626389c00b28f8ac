import { type JsonObject, parseObject, type World } from "@roomhub/protocol";
import type {
  ProviderCall,
  ProviderRequest,
  ProviderSink,
  ResponseHead,
} from "../call/provider-call.ts";
import type { ProviderFailure } from "../call/failure.ts";

export type CallProvider = (request: ProviderRequest, sink: ProviderSink) => ProviderCall;

/** A server that is looked at. */
export interface QueriedServer {
  call: CallProvider;
  /** from `checkEndpoint()` */
  baseUrl: string;
  /** auth headers of the provider */
  headers: () => Record<string, string>;
  world: World;
}

export interface Question {
  /** default: GET */
  method?: "GET" | "POST";
  /** default: the server's */
  baseUrl?: string;
  path: string;
  /** the body */
  json?: string;
}

/** What one short question found. */
export interface QueryResult {
  /** undefined when no response came */
  head: ResponseHead | undefined;
  /** what was received of it, at most 1 MiB */
  body: Buffer;
  /** why the response is not whole; undefined when it is */
  problem:
    | { kind: "timeout"; isAccepted: boolean }
    | { kind: "too-large" }
    | { kind: "failed"; failure: ProviderFailure }
    | undefined;
}

const maxBodyBytes = 1024 * 1024;

/** Sends a request that a provider can respond to at once. Never throws; resolves within `timeoutMs`. */
export function query(
  { call, baseUrl, headers, world }: QueriedServer,
  question: Question,
  timeoutMs: number,
): Promise<QueryResult> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    let head: ResponseHead | undefined;
    const timer = world.setTimeout(() => {
      giveUp({ kind: "timeout", isAccepted: running.isAccepted === true });
    }, timeoutMs);
    const request = requestFor({ baseUrl, ...question }, headers());
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
      world.clearTimeout(timer);
      resolve({ head, body: Buffer.concat(parts), problem });
    }
  });
}

function requestFor(
  { method = "GET", baseUrl, path, json }: Question & { baseUrl: string },
  headers: Record<string, string>,
): ProviderRequest {
  if (json === undefined) return { method, baseUrl, path, headers, body: undefined };
  const typed = { ...headers, "content-type": "application/json" };
  return { method, baseUrl, path, headers: typed, body: [Buffer.from(json)] };
}

/** The JSON object a body is, or undefined: an HTML page, a list or nothing at all. */
export function objectIn(body: Buffer): JsonObject | undefined {
  return parseObject(body.toString("utf8"));
}

import { nodeModule, pinnedAgent, withTls } from "@roomhub/protocol";
import type { Fetch } from "./connection.ts";

/** The parts of Node that requests over a pinned connection need. */
interface NodeModules {
  "node:https": { request(url: string, options: object): Outgoing };
  "node:stream": {
    Readable: {
      fromWeb(stream: ReadableStream): Source;
      toWeb(stream: Incoming): ReadableStream<Uint8Array<ArrayBuffer>>;
    };
  };
}

interface Source {
  on(event: "error", listener: (error: Error) => void): void;
  pipe(to: Outgoing): void;
  destroy(): void;
}

interface Outgoing {
  once(event: "error", listener: (error: Error) => void): void;
  once(event: "close", listener: () => void): void;
  once(event: "response", listener: (response: Incoming) => void): void;
  end(body?: unknown): void;
  destroy(): void;
}

interface Incoming {
  statusCode: number;
  statusMessage: string;
  rawHeaders: string[];
  resume(): void;
}

/**
 * `fetch` over connections on which a server proves that it has the pinned key. Nothing is sent before that; no authority is
 * asked and no session is resumed. Follows no redirect. Only in Node.
 */
export function pinnedFetch(pin: string): Fetch {
  const agent = pinnedAgent(pin);
  return async (url, init) => {
    const target = withTls(url);
    init.signal?.throwIfAborted();
    const request = new Request(target, { ...init, duplex: "half" } as RequestInit);
    const incoming = await new Promise<Incoming>((resolve, reject) => {
      const outgoing = nodeModule<NodeModules, "node:https">("node:https").request(target, {
        agent,
        method: request.method,
        headers: Object.fromEntries(request.headers),
        signal: init.signal ?? undefined,
      });
      outgoing.once("error", reject);
      outgoing.once("response", resolve);
      const { body } = request;
      if (body === null || typeof init.body === "string") outgoing.end(init.body ?? undefined);
      else {
        const source = readable().fromWeb(body);
        source.on("error", (error) => {
          reject(error);
          outgoing.destroy();
        });
        outgoing.once("close", () => source.destroy());
        source.pipe(outgoing);
      }
    });
    return responseOf(target, incoming);
  };
}

function responseOf(url: string, incoming: Incoming): Response {
  const { statusCode: status, statusMessage: statusText, rawHeaders } = incoming;
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    headers.append(rawHeaders[index] ?? "", rawHeaders[index + 1] ?? "");
  const isBodyless = status === 204 || status === 304;
  if (isBodyless) incoming.resume();
  const body = isBodyless ? null : readable().toWeb(incoming);
  const response = new Response(body, { status, statusText, headers });
  return Object.defineProperty(response, "url", { value: url });
}

function readable(): NodeModules["node:stream"]["Readable"] {
  return nodeModule<NodeModules, "node:stream">("node:stream").Readable;
}

import {
  type Agent,
  request as httpRequest,
  Agent as HttpAgent,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Invite } from "@roomhub/client";
import {
  parseJson,
  percentDecoded,
  pinnedAgent,
  PRIORITY_HEADER,
  withTls,
} from "@roomhub/protocol";

/** A longer response is an error: it is in memory until it is written. */
export const maxResponseBytes = 64 * 1024 * 1024;

/** What came back for one request. */
export type SendResult =
  | {
      kind: "response";
      status: number;
      headers: Readonly<Record<string, string | undefined>>;
      /** JSON; that of another content type is made of it */
      body: string;
      /** parsed */
      value: unknown;
    }
  | { kind: "too-long" }
  /** the response began and broke off: the request may have run */
  | { kind: "broken"; reason: string }
  /** there was no response; `code` is Node's */
  | { kind: "unreachable"; reason: string; code: string | undefined };

/**
 * Sends one request of a batch to a room. Never throws, except for the signal's reason.
 *
 * @param url - as in the input: `/v1/chat/completions`
 */
export type SendRequest = (url: string, body: string, signal: AbortSignal) => Promise<SendResult>;

/** A room, as a sender needs it. */
export interface RoomAccess extends Invite {
  /** of a closed room */
  key: string | undefined;
  /** of a hub that an invite pinned */
  pin: string | undefined;
}

/**
 * Requests of batches wait for hours where `fetch` ends a response without headers after 5 min, so they are sent by Node's own
 * client. What the other end does not respond to, a connection that is kept alive notices: close the sender after its last request.
 */
export function createSender({ hubUrl, room, key, pin }: RoomAccess) {
  const base = `${pin === undefined ? hubUrl : withTls(hubUrl)}/rooms/${room}`;
  const isTls = base.startsWith("https:");
  const options = { keepAlive: true };
  const plain = isTls ? new HttpsAgent(options) : new HttpAgent(options);
  const agent = pin === undefined ? plain : (pinnedAgent(pin) as Agent);
  const headers = {
    "content-type": "application/json",
    accept: "application/json",
    [PRIORITY_HEADER]: "batch",
    ...(key === undefined ? {} : { "x-api-key": key }),
  };
  const start = isTls ? httpsRequest : httpRequest;
  const once = async (...[url, body, signal]: Parameters<SendRequest>) => {
    const outgoing = start(base + url, { method: "POST", agent, headers, signal });
    let incoming: IncomingMessage | undefined;
    try {
      incoming = await new Promise<IncomingMessage>((resolve, reject) => {
        outgoing.once("response", resolve);
        // Errors after the response end its body, too.
        outgoing.on("error", reject);
        outgoing.end(body);
      });
      return await responseOf(incoming);
    } catch (error) {
      signal.throwIfAborted();
      const { code, message: reason } = error as NodeJS.ErrnoException;
      if (incoming !== undefined) return { kind: "broken", reason } as const;
      return { kind: "unreachable", reason, code, isStale: outgoing.reusedSocket } as const;
    }
  };
  return {
    send: async (...request: Parameters<SendRequest>): Promise<SendResult> => {
      const first = await once(...request);
      // The hub closed a kept connection just when the request was written to it.
      const isStale = "isStale" in first && first.isStale && first.code === "ECONNRESET";
      return isStale ? once(...request) : first;
    },
    close: () => agent.destroy(),
  };
}

async function responseOf(incoming: IncomingMessage): Promise<SendResult> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxResponseBytes) {
      incoming.destroy();
      return { kind: "too-long" };
    }
    chunks.push(chunk);
  }
  const type = incoming.headers["content-type"] ?? "";
  const data = Buffer.concat(chunks);
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [name, percentDecoded(String(value))]),
  );
  return { kind: "response", status: incoming.statusCode ?? 0, headers, ...jsonOf(data, type) };
}

/** Sound and pictures are an object with their type and base64; other text is a string. */
function jsonOf(data: Buffer, type: string): { body: string; value: unknown } {
  const text = data.toString();
  const value = parseJson(text);
  if (value !== undefined) return { body: text, value };
  const isText = /^text\/|json/.test(type);
  const made = isText ? text : { content_type: type, base64: data.toString("base64") };
  return { body: JSON.stringify(made), value: made };
}

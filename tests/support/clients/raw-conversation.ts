import { connect, type Socket } from "node:net";
import { within } from "../waiting.ts";

/** One response out of several on a connection. */
interface SpokenAnswer {
  status: number;
  /** names in lower case */
  headers: Record<string, string>;
  body: string;
}

/** Everything the hub sent on one connection until it was closed. */
export interface Conversation {
  answers: SpokenAnswer[];
  /** what arrived and was no complete response, or everything after the head of one without a length */
  rest: string;
  /** the last response has no length: a stream, or another protocol */
  isOpenEnded: boolean;
}

/**
 * Sends bytes and reads to the end of the connection. After the first final response `then` is sent: a plain request that
 * ends the connection shows where the hub believes the next request begins.
 */
export async function converse(
  port: number,
  bytes: string | Buffer,
  then: string,
): Promise<Conversation> {
  let hasSaidThen = false;
  const socket = openConversation(port, (conversation) => {
    if (hasSaidThen || !conversation.answers.some(({ status }) => status >= 200)) return;
    hasSaidThen = true;
    socket.say(then);
  });
  socket.say(bytes);
  return socket.ended;
}

export interface OpenConversation {
  say(bytes: string | Buffer): void;
  /** Half-closes the connection: nothing more is sent. */
  finish(): void;
  readonly isClosed: boolean;
  /** Resolves when the connection is closed, however. */
  readonly ended: Promise<Conversation>;
}

/** A bare socket to a port of this machine, and what is received on it, cut into responses. */
export function openConversation(
  port: number,
  onChange: (conversation: Conversation) => void = () => undefined,
): OpenConversation {
  const conversation: Conversation = { answers: [], rest: "", isOpenEnded: false };
  const socket: Socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
  let isClosed = false;
  socket.setEncoding("latin1").setNoDelay(true);
  socket.on("data", (part) => {
    conversation.rest += part.toString();
    takeAnswers(conversation);
    onChange(conversation);
  });
  // The hub has ended its side; ours has nothing to add.
  socket.on("end", () => socket.destroy());
  // A reset is one way to close; what came before it counts.
  socket.on("error", () => undefined);
  const closed = new Promise<Conversation>((resolve) => {
    socket.on("close", () => {
      isClosed = true;
      resolve(conversation);
    });
  });
  const ended = within(closed, "the end of the connection", 15_000).finally(() => socket.destroy());
  return {
    say: (bytes) => void socket.write(bytes),
    finish: () => void socket.end(),
    get isClosed() {
      return isClosed;
    },
    ended,
  };
}

function takeAnswers(conversation: Conversation): void {
  while (!conversation.isOpenEnded) {
    const { rest } = conversation;
    const headEnd = rest.indexOf("\r\n\r\n");
    if (headEnd === -1) return;
    const [statusLine = "", ...lines] = rest.slice(0, headEnd).split("\r\n");
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const end = headEnd + 4 + Number(headers["content-length"] ?? 0);
    if (rest.length < end) return;
    const status = Number(/^HTTP\/1\.1 (\d{3})\b/.exec(statusLine)?.[1] ?? Number.NaN);
    conversation.answers.push({ status, headers, body: rest.slice(headEnd + 4, end) });
    conversation.rest = rest.slice(end);
    conversation.isOpenEnded = status === 101 || headers["transfer-encoding"] !== undefined;
  }
}

import { connect, type Socket } from "node:net";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { within } from "../waiting.ts";

/** A response as it arrived over a bare socket. */
export interface RawAnswer {
  status: number;
  /** names in lower case */
  headers: Record<string, string>;
  body: string;
  /** the error, when the body is one */
  error: { code?: unknown; type?: unknown; message?: unknown } | undefined;
}

/** Sends bytes to a port of this machine and reads the first response completely. No HTTP client is involved. */
export async function sendBytes(
  port: number,
  bytes: string | Buffer,
  onConnected: (socket: Socket) => void = () => undefined,
): Promise<RawAnswer> {
  const socket = connect({ host: "127.0.0.1", port });
  try {
    return await within(readAnswer(socket, bytes, onConnected), "a response on the socket", 15_000);
  } finally {
    socket.destroy();
  }
}

function readAnswer(
  socket: Socket,
  bytes: string | Buffer,
  onConnected: (socket: Socket) => void,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.setEncoding("latin1");
    socket.on("connect", () => {
      socket.write(bytes);
      onConnected(socket);
    });
    socket.on("data", (part) => {
      text += part.toString();
      const answer = parseAnswer(text);
      if (answer !== undefined) resolve(answer);
    });
    const finish = (error?: Error) =>
      reject(error ?? new Error(`the socket closed after ${JSON.stringify(text.slice(0, 200))}`));
    socket.on("error", finish);
    socket.on("close", () => finish());
  });
}

/** @returns undefined while something is missing; responses of unknown length end with the head */
function parseAnswer(text: string): RawAnswer | undefined {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const [statusLine = "", ...lines] = text.slice(0, headEnd).split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const body = text.slice(headEnd + 4);
  if (body.length < Number(headers["content-length"] ?? 0)) return undefined;
  return { status: Number(statusLine.split(" ")[1]), headers, body, error: errorIn(body) };
}

function errorIn(body: string): RawAnswer["error"] {
  try {
    return (JSON.parse(body) as { error?: RawAnswer["error"] }).error;
  } catch {
    return undefined; // no JSON: no error of ours
  }
}

/** A POST whose response is not read until the test reads it. */
export function postUnread(url: string, json: unknown): Promise<IncomingMessage> {
  return within(
    new Promise((resolve, reject) => {
      const request = httpRequest(url, { method: "POST", agent: false });
      request.on("response", resolve).on("error", reject);
      request.end(JSON.stringify(json));
    }),
    `an answer of ${url}`,
  );
}

/** Reads a response in small pieces with a turn of the event loop after each. */
export async function readSlowly(message: IncomingMessage, biteBytes: number): Promise<Buffer> {
  const bites: Buffer[] = [];
  for await (const chunk of message.iterator()) {
    const bytes = chunk as Buffer;
    for (let at = 0; at < bytes.length; at += biteBytes) {
      bites.push(bytes.subarray(at, at + biteBytes));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return Buffer.concat(bites);
}

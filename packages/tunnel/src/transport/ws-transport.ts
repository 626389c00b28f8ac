import type { Duplex } from "node:stream";
import { WebSocket } from "ws";
import type { RawData } from "ws";
import { CLOSE_CODES } from "../wire/close-code.ts";
import { boundedText } from "../wire/frame.ts";
import { readMessages, type Reading } from "./message-reader.ts";
import { DRAIN_NOTICE_BYTES } from "./transport.ts";
import type { Transport, TransportListener } from "./transport.ts";

/** Shared: an options object per message has a measurable cost for small messages. */
const SEND_OPTIONS = { binary: true, compress: false, fin: true };
/** Of messages that leave in one write: more would not be in the processor's cache any more. */
const MAX_JOINED_BYTES = 256 * 1024;
/** RFC 6455 §5.5: a control frame holds 125 bytes, two of which are the code. */
const MAX_CLOSE_REASON_BYTES = 123;

/**
 * A transport over an open WebSocket. Create it and the session in the same turn as the socket's `open` or
 * `connection` event, or messages are lost. `ws` disables Nagle's algorithm.
 *
 * @param below - the WebSocket's own socket, from which messages are read. Left out, `ws` reads them, and they may be kept
 * @param reading - default: an agent's
 */
export function wsTransport(socket: WebSocket, below?: Duplex, reading?: Reading): Transport {
  socket.binaryType = "nodebuffer";

  let current: TransportListener | undefined;
  /** of messages that wait for those that follow */
  let joinedBytes = 0;
  const onSent = (): void => current?.onDrain?.();

  function listen(listener: TransportListener): void {
    const isFirst = current === undefined;
    current = listener;
    if (isFirst) subscribe();
  }

  function subscribe(): void {
    if (below !== undefined) readMessages(below, (message) => current?.onMessage(message), reading);
    socket.on("message", (data: RawData, isBinary: boolean) => {
      if (isBinary && Buffer.isBuffer(data)) current?.onMessage(data);
      else close(CLOSE_CODES.protocolError, "text message");
    });
    socket.on("ping", () => current?.onLife(false));
    socket.on("pong", () => current?.onLife(true));
    socket.once("close", (code, reason) => current?.onClose(code, reason.toString()));
    // `close` always follows and has the code; without a listener the error would end the process.
    socket.on("error", () => {});
  }

  /** A message of so many bytes leaves together with those that follow. */
  function join(bytes: number): void {
    if (joinedBytes === 0) below?.cork();
    joinedBytes += bytes;
  }

  function leave(): void {
    if (joinedBytes === 0) return;
    joinedBytes = 0;
    below?.uncork();
  }

  function close(code: number, reason: string): void {
    socket.close(code, boundedText(reason, MAX_CLOSE_REASON_BYTES));
  }

  return {
    listen,
    close,
    send(message, isFollowed = false) {
      const isOpen = socket.readyState === WebSocket.OPEN;
      if (isOpen && isFollowed) join(message.length);
      if (isOpen && socket.bufferedAmount <= DRAIN_NOTICE_BYTES) socket.send(message, SEND_OPTIONS);
      else if (isOpen) socket.send(message, SEND_OPTIONS, onSent);
      if (!isOpen || !isFollowed || joinedBytes >= MAX_JOINED_BYTES) leave();
    },
    ping() {
      if (socket.readyState === WebSocket.OPEN) socket.ping();
    },
    terminate: () => socket.terminate(),
    get bufferedBytes() {
      return socket.bufferedAmount;
    },
  };
}

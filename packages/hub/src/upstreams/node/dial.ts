import { WS_LIMITS, wsTransport } from "@roomhub/tunnel";
import { WebSocket } from "ws";
import { type Dial, LINK } from "./link-settings.ts";

/** Dials over the network. */
export const dialHub: Dial = (linkUrl, end) => {
  let socket: WebSocket;
  try {
    socket = new WebSocket(linkUrl, LINK.subprotocol, {
      ...WS_LIMITS,
      handshakeTimeout: LINK.handshakeMs,
      followRedirects: false,
    });
  } catch (error) {
    setImmediate(() => end.failed((error as Error).message));
    return { abandon() {} };
  }
  // In this turn, or the first message of the other hub is lost.
  socket.once("open", () => end.opened(wsTransport(socket)));
  socket.once("unexpected-response", (request, response) => {
    request.destroy();
    end.failed(`the hub responded with status ${response.statusCode}`);
  });
  socket.on("error", (error) => end.failed(error.message));
  return { abandon: () => socket.terminate() };
};

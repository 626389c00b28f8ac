import { HubUnreachableError } from "@roomhub/client";
import { ERROR_STATUS } from "@roomhub/protocol";
import type { Check } from "./check.ts";
import { failed, type Finding, ok, skipped } from "./finding.ts";

/** No participant can have it as an id in a room whose code is none. */
const nobody = { room: "------", id: "doctor" };

/**
 * Whether a WebSocket handshake arrives at the hub, without opening a tunnel: the hub refuses it in words of its own, where
 * a proxy in between would answer in others, or would pass it on as an ordinary request.
 */
export const tunnelCheck: Check = {
  name: "tunnel",
  waitsFor: "the answer to a WebSocket handshake",
  timeoutMs: 5_000,
  async look({ hubUrl, health, room, machine }, signal) {
    if (health === undefined) return skipped("needs the hub");
    const code = room?.code ?? nobody.room;
    const url = new URL(`${hubUrl}/v1/rooms/${code}/participants/${nobody.id}/tunnel`);
    try {
      return judge(await machine.handshake(url, signal));
    } catch (error) {
      signal.throwIfAborted();
      throw new HubUnreachableError(hubUrl, error);
    }
  },
};

const proxyFix =
  'let the proxy pass WebSockets; nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";';

function judge({ status, body }: { status: number; body: string }): Finding {
  const code = codeIn(body);
  if (code === "upgrade_required") {
    return failed("something in between drops the Upgrade header of WebSockets", proxyFix);
  }
  if (code !== undefined && Object.hasOwn(ERROR_STATUS, code)) {
    return ok("a WebSocket handshake reaches the hub");
  }
  return failed(`a WebSocket handshake is answered ${status}, and not by the hub`, proxyFix);
}

function codeIn(body: string): string | undefined {
  try {
    const { error } = JSON.parse(body) as { error?: { code?: unknown } };
    return typeof error?.code === "string" ? error.code : undefined;
  } catch {
    // Whoever wrote this is no hub.
    return undefined;
  }
}

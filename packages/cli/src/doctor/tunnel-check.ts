import { HubUnreachableError } from "@roomhub/client";
import { ERROR_STATUS, parseObject } from "@roomhub/protocol";
import { type Check, failed, type Finding, ok, skipped } from "./check.ts";

/** Room codes contain letters and digits only, so no participant matches. */
const noParticipant = { room: "------", id: "doctor" };

/**
 * Whether a WebSocket handshake reaches the hub, without opening a tunnel: the hub refuses it with its own error code,
 * while a proxy would send a different response, or pass it on as an ordinary request.
 */
export const tunnelCheck: Check = {
  name: "tunnel",
  waitsFor: "the response to a WebSocket handshake",
  timeoutMs: 5_000,
  async run({ hubUrl, health, room, machine, context }, signal) {
    if (health === undefined) return skipped("needs the hub");
    const code = room?.code ?? noParticipant.room;
    const url = new URL(`${hubUrl}/v1/rooms/${code}/participants/${noParticipant.id}/tunnel`);
    try {
      return judge(await machine.handshake(url, await context.pins.of(hubUrl), signal));
    } catch (error) {
      signal.throwIfAborted();
      throw new HubUnreachableError(hubUrl, error);
    }
  },
};

const proxyFix =
  'allow WebSockets in the proxy; nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";';

function judge({ status, body }: { status: number; body: string }): Finding {
  const code = codeIn(body);
  if (code === "upgrade_required") {
    return failed("a proxy in between drops the Upgrade header of WebSockets", proxyFix);
  }
  if (code !== undefined && Object.hasOwn(ERROR_STATUS, code)) {
    return ok("a WebSocket handshake reaches the hub");
  }
  return failed(
    `a WebSocket handshake got a ${status} response that is not from the hub`,
    proxyFix,
  );
}

function codeIn(body: string): string | undefined {
  const { error } = (parseObject(body) ?? {}) as { error?: { code?: unknown } };
  return typeof error?.code === "string" ? error.code : undefined;
}

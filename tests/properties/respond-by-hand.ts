import { RESET_CODES } from "@roomhub/tunnel";
import type { HeldRequest } from "../support/hub/hand-agent.ts";
import type { How } from "./hub-actions.ts";

const chunk = (delta: object, finish: string | null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const json = { "content-type": "application/json" };

/** Responds so that the client can identify its own response: its tag is in it. */
export function answerByHand(
  { tag, isStream, responder }: HeldRequest,
  how: Exclude<How, "garbage on the tunnel">,
): void {
  const stream = { "content-type": "text/event-stream" };
  const first = isStream ? chunk({ content: `for ${tag}.` }, null) : `{"choices":["for ${tag}."`;
  const rest = isStream ? `${chunk({}, "stop")}data: [DONE]\n\n` : "]}";
  const begin = () => {
    responder.head({ status: 200, headers: isStream ? stream : json });
    responder.write(Buffer.from(first));
  };
  switch (how) {
    case "whole":
      begin();
      responder.write(Buffer.from(rest));
      return responder.end();
    case "cut":
      begin();
      return responder.end();
    case "head then reset":
      begin();
      return responder.reset(RESET_CODES.providerDisconnected, "cut");
    case "unreachable":
      return responder.reset(RESET_CODES.providerUnreachable, "refused");
    case "overloaded":
      return responder.reset(RESET_CODES.overloaded, "full");
    case "timeout":
      return responder.reset(RESET_CODES.providerTimeout, "late");
    case 400:
    case 401:
    case 403:
    case 407:
    case 500:
    case 503:
      responder.head({ status: how, headers: json });
      responder.write(Buffer.from('{"error":{"message":"no"}}'));
      return responder.end();
  }
}

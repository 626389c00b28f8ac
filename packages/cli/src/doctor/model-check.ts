import type { RouteExplanation, RouteVerdict } from "@roomhub/protocol";
import { exitCodeOfStatus } from "../exit-code.ts";
import { hintHere } from "../rooms/hub-hint.ts";
import { safe } from "../terminal/text.ts";
import { isForChat } from "./participants-check.ts";
import { type Check, failed, ok, skipped } from "./check.ts";

export const noChat = "no participant of the room has chat";

/** Whether a participant would serve the requested model. */
export const modelCheck: Check = {
  name: "model",
  waitsFor: "the hub to explain the route of a request",
  timeoutMs: 5_000,
  async run(exam, signal) {
    const { context, hubUrl, room, model } = exam;
    if (room === undefined) return skipped("needs the room");
    if (!isForChat(exam.participants)) return skipped(noChat);
    const client = context.createClient(hubUrl);
    const route = await client.explainRoute(room.code, { model }, { signal });
    exam.route = route;
    if (route.refusal !== undefined) {
      const { message, hint, status } = route.refusal;
      const exitCode = exitCodeOfStatus(status);
      return failed(message, hintHere(context, hint, hubUrl), { exitCode });
    }
    const names = route.participants
      .filter(({ verdict }) => ["asked", "random", "full", "loading"].includes(verdict))
      .map(({ id, model: served }) => `${safe(id)} (${safe(served)})`);
    const shown = names.slice(0, 3).join(", ") + (names.length > 3 ? " and others" : "");
    return ok(`${safe(model)} goes to ${shown}${waitText(route)}`);
  },
};

function waitText(route: RouteExplanation): string {
  if (route.outcome !== "waits") return "";
  return waitsForLoading(route) ? ", once it is loaded" : ", once it has capacity";
}

/** Whether a request waits only for a model that is loading. */
export function waitsForLoading({ outcome, participants }: RouteExplanation): boolean {
  const has = (expected: RouteVerdict) => participants.some(({ verdict }) => verdict === expected);
  return outcome === "waits" && has("loading") && !has("full");
}

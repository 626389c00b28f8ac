import type { RouteExplanation, RouteVerdict } from "@roomhub/protocol";
import { exitCodeOfStatus } from "../exit-code.ts";
import { hintHere } from "../rooms/hub-hint.ts";
import { safe } from "../terminal/text.ts";
import type { Check } from "./check.ts";
import { failed, ok, skipped } from "./finding.ts";

/** Whether anybody would serve the model that is wanted. */
export const modelCheck: Check = {
  name: "model",
  waitsFor: "the hub to say where a request would go",
  timeoutMs: 5_000,
  async look(exam, signal) {
    const { context, hubUrl, room, model } = exam;
    if (room === undefined) return skipped("needs the room");
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
  return waitsForLoading(route) ? ", once it is loaded" : ", once it has room";
}

/** Whether a request waits for nothing but a model that is being loaded. */
export function waitsForLoading({ outcome, participants }: RouteExplanation): boolean {
  const isAwaited = (wanted: RouteVerdict) =>
    participants.some(({ verdict }) => verdict === wanted);
  return outcome === "waits" && isAwaited("loading") && !isAwaited("full");
}

import type { CapabilityValue } from "@roomhub/protocol";
import type { Participant } from "../domain/participant.ts";
import type { OperationContext } from "./context.ts";
import {
  capabilitiesLearned,
  directFailed,
  directResponded,
  loadedModelsRead,
  loadReported,
} from "./path-changes.ts";

/** What the calls and probes that the hub makes itself mean to participants. */
export function directEvents(context: () => OperationContext) {
  return {
    responded: (
      participant: Participant,
      verdict: Parameters<typeof directResponded>[2],
      isLife?: boolean,
    ) => directResponded(context(), participant, verdict, isLife),
    failed: (participant: Participant, reason: string) =>
      directFailed(context(), participant, reason),
    learned: (participant: Participant, known: Readonly<Record<string, CapabilityValue>>) =>
      capabilitiesLearned(context(), participant, known),
    reported(participant: Participant, load: { slots?: number; elsewhere?: number } | undefined) {
      const { slots: limit, elsewhere = 0 } = load ?? {};
      loadReported(context(), participant, { limit, limitFrom: "engine", elsewhere });
    },
    loaded: (participant: Participant, models: readonly string[] | undefined) =>
      loadedModelsRead(context(), participant, models),
  };
}

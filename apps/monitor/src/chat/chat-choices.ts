import { isLiveAndReady, type ParticipantSummary } from "@roomhub/protocol";
import { canReplaceStandIn } from "@roomhub/room-state";

/** Models that can chat now, and who shares them; a stand-in only while no other can take its place. */
export function chatChoices(participants: Iterable<ParticipantSummary>) {
  const all = [...participants];
  const isReplaced = all.some(canReplaceStandIn);
  const ready = all.filter(
    (each) =>
      isLiveAndReady(each) &&
      each.capabilities.chatCompletions !== "unsupported" &&
      !(isReplaced && each.standIn === true),
  );
  const models = [...new Set(ready.map(({ model }) => model))].sort();
  return {
    models: models.map((model) => ({ selector: model, text: model })),
    participants: ready.map(({ id, nickname, model }) => ({
      selector: id,
      text: `${nickname}: ${model}`,
    })),
  };
}

/** Whom a prompt can go to: the request's `model` field, and its name for people. */
export type ChatChoices = ReturnType<typeof chatChoices>;

/** For a further answer beside the first: a model that is not compared yet, or else any. */
export function nextChoice({ models }: ChatChoices, chosen: readonly string[]): string {
  return models.find(({ selector }) => !chosen.includes(selector))?.selector ?? "*";
}

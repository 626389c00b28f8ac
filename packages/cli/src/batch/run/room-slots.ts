import { isLiveAndReady, isSameModel, type ParticipantSummary } from "@roomhub/protocol";

/**
 * How many requests of batches for a model could run in a room at once.
 *
 * @param model - a value of the `model` field; undefined for several
 * @returns undefined for one that no participant has, such as an alias
 */
export function slotsFor(
  model: string | undefined,
  participants: readonly ParticipantSummary[],
): number | undefined {
  const isAny = model === undefined || model === "" || model === "*";
  const serving = participants.filter((one) => isAny || isNamed(one, model));
  if (serving.length === 0) return undefined;
  return serving
    .filter((one) => isLiveAndReady(one) && one.batches !== false)
    .reduce((sum, { load }) => sum + load.limit, 0);
}

/** The requests of batches that wait in a room: at least so many. */
export function batchesWaiting(participants: readonly ParticipantSummary[]): number {
  // Each participant counts all that could run there.
  return Math.max(0, ...participants.map(({ load }) => load.batch?.queued ?? 0));
}

/** Values of the `model` field that name the participants. */
export function namesIn(participants: readonly ParticipantSummary[]): string[] {
  return participants.flatMap(({ id, model }) => [id, model, `model:${model}`]);
}

function isNamed(one: ParticipantSummary, model: string): boolean {
  return one.id === model || isSameModel(one.model, model.replace(/^model:/, ""));
}

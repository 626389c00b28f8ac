import type { ParticipantSummary } from "@roomhub/protocol";
import {
  type BenchResult,
  firstTokenMs,
  generationOf,
  participantSpeeds,
  type RoomState,
} from "@roomhub/room-state";

/** What was measured, beside what the room shows now; none for a participant that was not measured. */
export function benchRows({ participants }: BenchResult, state: RoomState) {
  const speeds = participantSpeeds(state);
  return participants
    .filter(({ skipped }) => skipped === undefined)
    .map((measured) => {
      const { id, model, promptTokensPerSecond } = measured;
      const alone = generationOf(measured, "alone");
      const together = generationOf(measured, "together");
      const speed = speeds.get(id);
      return {
        measured,
        /** with the one that it shares now, when that is another */
        model: modelNow(model, state.participants.get(id)),
        /** ms to the first token of prompts of 1 KB and of 16 KB; each `now` is of the last requests */
        firstToken: {
          short: firstTokenMs(measured, 1024),
          long: firstTokenMs(measured, 16 * 1024),
          now: speed?.firstTokenMs ?? null,
        },
        promptRate: promptTokensPerSecond,
        /** tokens per second of one request, and of several together */
        outputRate: {
          alone: alone?.tokensPerSecond ?? null,
          together: together?.tokensPerSecond ?? null,
          now: speed?.tokensPerSecond ?? null,
        },
        /** how many several are */
        atOnce: together?.requests,
      };
    });
}

export type BenchRow = ReturnType<typeof benchRows>[number];

function modelNow(model: string, now: ParticipantSummary | undefined): string {
  if (now === undefined) return `${model}, not in the room now`;
  return now.model === model ? model : `${model}, now ${now.model}`;
}

/** The largest, that a bar's length is a share of. */
export function mostOf(values: readonly (number | null)[]): number {
  return Math.max(0, ...values.map((value) => value ?? 0));
}

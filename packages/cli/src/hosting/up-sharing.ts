import type { ModelChoice } from "../sharing/choose-models.ts";
import { withCommandName } from "../command-list.ts";
import type { CliContext } from "../context.ts";
import { keepClientKey, makeParticipant, stoppedError } from "../sharing/make-participant.ts";
import { noticeLine, trackOutage } from "../sharing/notice-line.ts";
import { suggestId } from "../sharing/participant-name.ts";
import type { ParticipantNotice, ParticipantOptions } from "@roomhub/participant";
import type { RunningParticipant } from "../capabilities.ts";
import { aborted } from "../terminal/stop-signal.ts";
import { clockTime, colorsFor, duration, safe } from "../terminal/text.ts";

/** Options that the participants of one `up` share. */
export type Sharing = Omit<ParticipantOptions, "id" | "model" | "endpoint">;

interface SharingDeps {
  closers: (() => Promise<void>)[];
  signal: AbortSignal;
  /** Prints a line, unless nothing is to be printed. */
  say: (text: string) => void;
}

/** Shares a model in the room, and waits until it has joined. */
export async function shareModel(
  context: CliContext,
  sharing: Sharing,
  { model, endpoint, traits }: ModelChoice,
  { closers, signal, say }: SharingDeps,
): Promise<{ participant: RunningParticipant; participantId: string }> {
  const participantId = suggestId(sharing.nickname, model);
  const participant = await makeParticipant(context, {
    ...sharing,
    ...traits,
    id: participantId,
    model,
    endpoint,
    onClientKey: (key) => void keepClientKey(context, { ...sharing, id: participantId }, key, say),
    // The hub in this process already measures the same responses.
    isMetered: false,
  });
  closers.push(() => participant.close());
  await startOrExplain(participant, signal);
  return { participant, participantId };
}

/** A stop before the participant has joined is not a failure. */
async function startOrExplain(participant: RunningParticipant, signal: AbortSignal): Promise<void> {
  const stopped = await Promise.race([participant.start(), aborted(signal)]).then(
    () => undefined,
    () => participant.stopped,
  );
  if (stopped !== undefined) throw stoppedError(stopped);
}

/**
 * Prints problems and their end only: requests are shown from the hub's events, and the banner announces the join.
 */
export function reportProblems(
  context: CliContext,
  signal: AbortSignal,
): (notice: ParticipantNotice) => void {
  const colors = colorsFor(context, context.stderr);
  const say = (line: string) => context.stderr.write(`${line}\n`);
  const outage = trackOutage<"own">();
  return (notice) => {
    if (signal.aborted) return;
    const nowMs = context.world.wallMs();
    switch (notice.kind) {
      case "disconnected":
        if (outage.began("own", nowMs)) say(noticeLine(notice, nowMs, colors));
        return;
      // Its line, and that of the interruption, are among those of the room's participants.
      case "resumed":
      case "connected": {
        const lastedMs = outage.ended("own", nowMs);
        if (lastedMs === undefined) return;
        const text = colors.green(`reconnected after ${duration(lastedMs)}`);
        say(`${colors.dim(clockTime(nowMs))}  ${text}`);
        return;
      }
      case "stopped": {
        if (notice.code === "closed") return;
        const reason = colors.yellow(`no longer shares its model: ${safe(notice.reason)}`);
        say(`${colors.dim(clockTime(nowMs))}  ${reason}`);
        if (notice.hint !== undefined) say(`→ ${withCommandName(context, safe(notice.hint))}`);
        return;
      }
      case "provider-readiness":
      case "budget":
      case "model-changed":
      case "fault":
        say(noticeLine(notice, nowMs, colors));
        return;
      default:
    }
  };
}

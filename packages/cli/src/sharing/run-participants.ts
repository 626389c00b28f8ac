import type { ParticipantNotice, ParticipantOptions, StopReason } from "@roomhub/participant";
import type { Timer } from "@roomhub/protocol";
import type { RunningParticipant } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import { canErase } from "../terminal/interactivity.ts";
import { createRowFeed, type RowFeed } from "../terminal/row-feed.ts";
import { aborted } from "../terminal/stop-signal.ts";
import { clockTime, colorsFor, safe } from "../terminal/text.ts";
import { notifyOfUse } from "./desktop-notifier.ts";
import { keepClientKey, makeParticipant, stoppedError } from "./make-participant.ts";
import { NoticeReport } from "./notice-report.ts";
import { runningNow, showRunning } from "./running-now.ts";

export interface RunOptions {
  /** Aborting it makes them leave. */
  signal: AbortSignal;
  /** Notices as NDJSON on stdout instead of lines on stderr. */
  isJson: boolean;
  isQuiet: boolean;
  /** Whether single keys can be read from the terminal. */
  hasKeys: boolean;
  /** Whether the desktop is notified of use. */
  isNotifying: boolean;
}

/**
 * Runs participants until stopped, and reports what happens to them. One that the hub refuses does not affect the others.
 *
 * @throws CommandError when the hub has permanently refused all of them, UsageError for invalid options
 */
export async function runParticipants(
  context: CliContext,
  participants: readonly ParticipantOptions[],
  { signal, isJson, isQuiet, hasKeys, isNotifying }: RunOptions,
): Promise<void> {
  const keysHint = hasKeys ? "p pauses, P for an hour, Ctrl+C leaves" : "Ctrl+C leaves";
  const running: RunningParticipant[] = [];
  // Drawing in the background would erase the output of other programs.
  const isDrawn = hasKeys && canErase(context);
  const display = isDrawn ? showRunning(context, running) : undefined;
  const feed = createRowFeed(context, display?.terminal ?? context.stderr);
  const report = new NoticeReport(context, feed, participants, { isJson, isQuiet, keysHint });
  // Responses are measured only while their rows are shown.
  const isMetered = isJson || (!isQuiet && (() => feed.hasRoom()));
  const say = (text: string) => {
    if (!isJson && !isQuiet) feed.line(text);
  };
  const notify = isNotifying ? notifyOfUse(context, say) : undefined;
  const agentId = context.world.randomUUID();
  const pausing = pauseByKeys(context, feed, running);
  let releaseKeys = () => {};
  try {
    for (const options of participants) {
      const onNotice = (notice: ParticipantNotice) => {
        notify?.(notice);
        if (notice.kind === "request-started") display?.start();
        report.note(options, notice);
      };
      const { nextId: suggestNext } = options;
      // What is reported from now on has the other id.
      const nextId =
        suggestNext &&
        ((takenId: string) => {
          options.id = suggestNext(takenId);
          say(`The room has a participant ${safe(takenId)}; joining as ${safe(options.id)}`);
          return options.id;
        });
      const onClientKey = (key: string) => void keepClientKey(context, options, key, say);
      running.push(
        await makeParticipant(context, {
          ...options,
          ...{ agentId, nextId, onNotice, onClientKey, isMetered, countsTokens: isDrawn },
        }),
      );
    }
    if (hasKeys) releaseKeys = context.onKey(pausing.onKey, display);
    const ended = Promise.all(running.map(startAndStay));
    const stops = await Promise.race([aborted(signal), ended]);
    const last = stops?.at(-1);
    if (last !== undefined) throw stoppedError(last);
    say("Leaving: waiting for running requests; press Ctrl+C again to stop now");
  } finally {
    releaseKeys();
    pausing.close();
    await Promise.all(running.map((participant) => participant.close()));
    display?.close();
    feed.close();
  }
  for (const { id, room } of participants) say(`${safe(id)} left room ${safe(room)}`);
}

/** Resolves when the participant has stopped, before or after its first connection; `stopped` has a refusal's code. */
async function startAndStay(participant: RunningParticipant): Promise<StopReason> {
  await participant.start().catch(() => {});
  return participant.stopped;
}

const hourMs = 3_600_000;
/** Timers stop while a machine sleeps, so the clock is checked this often for the end of a pause. */
const lookMs = 15_000;

/** `p` pauses all participants, `P` for an hour; the next of either resumes them. */
export function pauseByKeys(
  context: CliContext,
  feed: Pick<RowFeed, "line">,
  participants: readonly RunningParticipant[],
): { onKey: (key: string) => void; close: () => void } {
  const colors = colorsFor(context, context.stderr);
  let isPaused = false;
  let looking: Timer | undefined;

  const say = (text: string) => {
    feed.line(`${colors.dim(clockTime(context.world.wallMs()))}  ${text}`);
  };
  const pause = (untilMs: number | undefined) => {
    isPaused = true;
    for (const participant of participants) participant.pause();
    if (untilMs !== undefined) look(untilMs);
    const count = runningNow(participants).length;
    const still = count === 0 ? "" : `, ${count} still ${count === 1 ? "runs" : "run"}`;
    const until = untilMs === undefined ? "" : ` until ${clockTime(untilMs)}`;
    say(colors.yellow(`paused${until}: no new requests${still}; p resumes`));
  };
  const resume = () => {
    isPaused = false;
    context.world.clearTimeout(looking);
    for (const participant of participants) participant.resume();
    say(colors.green("resumed"));
  };
  const look = (untilMs: number) => {
    const leftMs = untilMs - context.world.wallMs();
    if (leftMs <= 0) resume();
    else looking = context.world.setTimeout(() => look(untilMs), Math.min(leftMs, lookMs));
  };

  return {
    onKey(key) {
      if (key !== "p" && key !== "P") return;
      if (isPaused) resume();
      else pause(key === "P" ? context.world.wallMs() + hourMs : undefined);
    },
    close: () => context.world.clearTimeout(looking),
  };
}

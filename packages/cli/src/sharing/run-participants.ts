import type { CliContext } from "../context.ts";
import { makeParticipant, stoppedError } from "./make-participant.ts";
import { createRowFeed, type RowFeed } from "../terminal/row-feed.ts";
import type { ParticipantOptions, RunningParticipant, StopReason } from "../services.ts";
import { aborted } from "../terminal/stop-signal.ts";
import { reportNotices } from "./report-notices.ts";
import { clockTime, colorsFor, safe } from "../terminal/text.ts";

export interface RunOptions {
  /** Aborting it makes them leave. */
  signal: AbortSignal;
  /** Notices as NDJSON on stdout instead of lines on stderr. */
  isJson: boolean;
  isQuiet: boolean;
  /** Somebody sits there who can press keys. */
  hasKeys: boolean;
}

/**
 * Keeps participants in their room until stopped, saying what happens. One that the hub refuses leaves the others alone.
 *
 * @throws CommandError when the hub refused the last of them for good, UsageError when one cannot even be made
 */
export async function runParticipants(
  context: CliContext,
  participants: readonly ParticipantOptions[],
  { signal, isJson, isQuiet, hasKeys }: RunOptions,
): Promise<void> {
  const keysHint = hasKeys ? "p pauses, Ctrl+C leaves" : "Ctrl+C leaves";
  const feed = createRowFeed(context, context.stderr);
  const tell = reportNotices(context, feed, participants, { isJson, isQuiet, keysHint });
  // What no row shows is not measured.
  const isMetered = isJson || (!isQuiet && (() => feed.hasRoom()));
  const say = (text: string) => {
    if (!isJson && !isQuiet) feed.line(text);
  };
  const running: RunningParticipant[] = [];
  let releaseKeys = () => {};
  try {
    for (const options of participants) {
      const onNotice = (notice: Parameters<typeof tell>[1]) => tell(options, notice);
      running.push(await makeParticipant(context, { ...options, onNotice, isMetered }));
    }
    if (hasKeys) releaseKeys = context.onKey(pauseKey(context, feed, running));
    const ended = Promise.all(running.map(startAndStay));
    const stops = await Promise.race([aborted(signal), ended]);
    const last = stops?.at(-1);
    if (last !== undefined) throw stoppedError(last);
    say("Leaving: running requests may finish; Ctrl+C again stops at once");
  } finally {
    releaseKeys();
    await Promise.all(running.map((participant) => participant.close()));
    feed.close();
  }
  for (const { id, room } of participants) say(`${safe(id)} left room ${safe(room)}`);
}

/** `p` pauses all of them, and the next `p` resumes them. */
function pauseKey(
  context: CliContext,
  feed: RowFeed,
  running: readonly RunningParticipant[],
): (key: string) => void {
  const colors = colorsFor(context, context.stderr);
  let isPaused = false;
  return (key) => {
    if (key.toLowerCase() !== "p") return;
    isPaused = !isPaused;
    for (const participant of running) {
      if (isPaused) participant.pause();
      else participant.resume();
    }
    const text = isPaused
      ? colors.yellow("paused: no new requests, running ones finish; p resumes")
      : colors.green("resumed");
    feed.line(`${colors.dim(clockTime(context.nowMs()))}  ${text}`);
  };
}

/** Starts and resolves when it is over, before or after the first connection: `stopped` tells a refusal's code. */
async function startAndStay(participant: RunningParticipant): Promise<StopReason> {
  await participant.start().catch(() => {});
  return participant.stopped;
}

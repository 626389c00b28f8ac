import type { Timer } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import type { RunningParticipant } from "../capabilities.ts";
import type { RowFeed } from "../terminal/row-feed.ts";
import { clockTime, colorsFor } from "../terminal/text.ts";
import { runningNow } from "./running-now.ts";

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

import type { FrameWriter } from "../wire/frame-writer.ts";

interface Turn {
  readonly id: number;
  /** Sends what waited, in at most so many frames. @returns whether more could be sent at once */
  proceed(maxFrames: number): boolean;
}

/**
 * Sends what waited for room: one frame of each stream in turn, beginning behind the stream that was last.
 *
 * @returns id of the stream that is last now
 */
export function sendInTurns(
  streams: readonly Turn[],
  lastId: number,
  writer: Pick<FrameWriter, "isHeld">,
): number {
  const inOrder = streams.toSorted((one, other) => one.id - other.id);
  let turn = [
    ...inOrder.filter(({ id }) => id > lastId),
    ...inOrder.filter(({ id }) => id <= lastId),
  ];
  let last = lastId;
  while (turn.length > 0) {
    const next: Turn[] = [];
    for (const stream of turn) {
      if (writer.isHeld) return last;
      last = stream.id;
      if (stream.proceed(1)) next.push(stream);
    }
    turn = next;
  }
  return last;
}

import { pause, type World } from "@roomhub/protocol";

/** Waits for `work`, at most for so many ms. */
export async function withinMs(world: World, work: Promise<void>, ms: number): Promise<void> {
  const done = new AbortController();
  await Promise.race([work, pause(world, ms, done.signal)]);
  done.abort();
}

import { HubUnreachableError } from "@roomhub/client";
import type { RoomEvent, RoomSource } from "@roomhub/room-state";
import { expect, test } from "vitest";
import { type FeedView, runFeed } from "./room-feed.ts";

const nothing = { participants: [], requests: undefined };

/** Opens as often as it has scripts, each a reason to fail or the events until it ends for good. */
function sourceOf(scripts: (Error | RoomEvent[])[], stop: AbortController): RoomSource {
  return {
    async *events({ onOpen }) {
      const script = scripts.shift();
      if (script === undefined) return stop.abort();
      if (script instanceof Error) throw script;
      onOpen();
      yield* script;
      throw new Error("the room was removed");
    },
    lists: async () => nothing,
  };
}

async function run(scripts: (Error | RoomEvent[])[]) {
  const stop = new AbortController();
  const views: FeedView[] = [];
  const sleeps: number[] = [];
  await runFeed(sourceOf(scripts, stop), {
    signal: stop.signal,
    nowMs: () => 1_000,
    sleep: async (ms) => void sleeps.push(ms),
    onChange: (view) => views.push(view),
  });
  return { views, sleeps };
}

const joined = {
  type: "participant.left",
  timestamp: "",
  roomCode: "ABC234",
  participantId: "ada",
  nickname: "Ada",
} as RoomEvent;

test("a hub that is unreachable is a problem with its next step, until it is reached", async () => {
  const refused = new HubUnreachableError("http://hub", new Error("fetch failed"));
  const { views, sleeps } = await run([refused, [joined]]);
  const [first] = views;
  expect(first?.problem?.message).toContain("Hub at http://hub is unreachable");
  expect(first?.problem?.hint).toContain("roomhub serve");
  expect(first?.problem?.retryAtMs).toBe(3_000);
  const synced = views.find(({ state, link }) => state.isSynced && link.kind === "open");
  expect(synced?.problem).toBeUndefined();
  expect(sleeps[0]).toBe(2_000);
});

test("what was known of a room stays while it cannot be read", async () => {
  const { views } = await run([[joined], new Error("offline")]);
  const last = views.at(-1);
  expect(last?.link.kind).toBe("broken");
  expect(last?.state.isSynced).toBe(true);
});

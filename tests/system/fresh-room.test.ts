import { systemWorld } from "@roomhub/protocol";
import { memoryRoomStore } from "@roomhub/hub";
import { expect, test } from "vitest";
import { joinDirect } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";

const endpoint = "http://127.0.0.1:9/v1";

test("after a restart within 5 s of a room's creation no event repeats its room.created, or another's id", async () => {
  const store = memoryRoomStore();
  const world = { ...systemWorld, wallMs: () => 1_893_456_000_000 };
  let code = "";
  {
    await using hub = await startTestHub({ store, world });
    code = await hub.createRoom();
  }
  await using hub = await startTestHub({ store, world });
  const early = await hub.watch(code);
  await joinDirect(hub, code, { endpoint });
  await early.next("participant.joined");
  const late = await hub.watch(code);
  await hub.client.leave(code, "ada");
  for (const events of [early, late]) {
    await events.next("participant.left");
    expect(events.of("room.created")).toEqual([]);
    const ids = events.events.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  }
  expect(early.events[0]?.id).toMatch(/-1$/);
});

test("a wall clock that is set back makes no old room fresh", async () => {
  let wallMs = 1_893_456_000_000;
  const world = { ...systemWorld, wallMs: () => wallMs };
  await using hub = await startTestHub({ world });
  const code = await hub.createRoom();
  wallMs -= 1;
  const events = await hub.watch(code);
  await joinDirect(hub, code, { endpoint });
  await events.next("participant.joined");
  expect(events.of("room.created")).toEqual([]);
});

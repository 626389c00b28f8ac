import { RoomhubClient } from "@roomhub/client";
import { expect, test } from "vitest";
import { joinDirect } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";

/** The events of a stream up to `room.created`, with an earlier reconnect than the hub requests. */
async function cutAfterCreation(response: Response): Promise<Response> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body!) {
    text += decoder.decode(bytes, { stream: true });
    if (/room\.created[^]*\n\n/.test(text)) break;
  }
  return new Response(text.replace("retry: 2000", "retry: 50"), { headers: response.headers });
}

test("a stream that breaks in a room's first seconds reports its creation once", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  let opened = 0;
  const client = new RoomhubClient({
    hubUrl: hub.url,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      return ++opened === 1 ? cutAfterCreation(response) : response;
    },
  });
  const seen: string[] = [];
  const events = client.events(code, {
    onOpen: () => {
      if (opened === 2) void joinDirect(hub, code, { endpoint: "http://127.0.0.1:9/v1" });
    },
  });
  for await (const { type } of events) {
    seen.push(type);
    if (type === "participant.joined") break;
  }
  expect(seen).toEqual(["room.created", "participant.joined"]);
});

test("a page of any origin may send the id of the last event", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const preflight = await hub.fetch(`/v1/rooms/${code}/events`, {
    method: "OPTIONS",
    headers: {
      origin: "https://app.example",
      "access-control-request-method": "GET",
      "access-control-request-headers": "last-event-id",
    },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-headers")).toBe("last-event-id");
});

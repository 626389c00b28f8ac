import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { joinDirect } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { createGate, until, within } from "../support/waiting.ts";

/** A model server whose every response waits for `opened`. */
async function startHeldProvider(opened: Promise<void>) {
  const asked = createGate();
  const server = createServer((_request, response) => {
    asked.open();
    void opened.then(() => response.end("{}"));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    asked: asked.opened,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}

test("a join that waits for its probe when the hub stops still gets its response", async () => {
  const gate = createGate();
  await using provider = await startHeldProvider(gate.opened);
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const joining = joinDirect(hub, code, { endpoint: provider.url });
  await within(provider.asked, "the probe");
  const closing = hub.hub.close();
  const isGone = () =>
    hub.fetch("/health").then(
      () => false,
      () => true,
    );
  await until("the hub's port to be closed", isGone, (gone) => gone);
  gate.open();
  expect((await within(joining, "the join")).answer.participant.id).toBe("ada");
  expect(await within(closing, "the hub to close")).toEqual({ cut: 0 });
});

import { networkInterfaces } from "node:os";
import { RoomhubClient } from "@roomhub/client";
import { expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";

/** One that connections to this machine can be made to, from it too. */
const ownAddress = Object.values(networkInterfaces())
  .flatMap((infos) => infos ?? [])
  .find(({ internal, family }) => !internal && family === "IPv4")?.address;

test("an endpoint on the hub's own machine is called only when it was registered from loopback", async ({
  skip,
}) => {
  if (ownAddress === undefined) return skip("this machine has no address but loopback");
  await using hub = await startTestHub({ host: "0.0.0.0" });
  await using provider = await startFakeProvider({ host: ownAddress });
  const code = await hub.createRoom();
  const register = (host: string, id: string) =>
    new RoomhubClient({ hubUrl: `http://${host}:${hub.port}` }).join(code, {
      id,
      nickname: id,
      model: "fake-model",
      endpoint: provider.url,
    });

  const afar = await register(ownAddress, "afar");
  expect(afar.participant.connection.connected).toBe(false);
  expect(afar.warnings?.map(({ message }) => message).join()).toContain(
    `${ownAddress} is this hub's own machine`,
  );
  expect(provider.requests).toEqual([]);

  const near = await register("127.0.0.1", "near");
  expect(near.participant.connection.connected).toBe(true);
  expect(near.warnings ?? []).toEqual([]);
});

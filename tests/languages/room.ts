import type { HubOptions } from "@roomhub/hub";
import { joinTunnel } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import {
  type FakeProvider,
  type FakeProviderOptions,
  startFakeProvider,
} from "../support/providers/fake-provider.ts";

/** A room whose one participant, `ada`, repeats prompts, unless `behave` says otherwise. */
export async function openRoom(behave?: FakeProviderOptions["behave"], options: HubOptions = {}) {
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(await startTestHub(options));
  const code = await hub.createRoom();
  const provider = stack.use(await startFakeProvider({ behave }));
  stack.use(await joinTunnel(hub, code, { endpoint: provider.url }));
  const owned = stack.move();
  return {
    ...{ hub, provider, code, baseUrl: `${hub.url}/rooms/${code}/v1` },
    generations: () => generationsOf(provider),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The same, closed. @param limits - of the key that is returned */
export async function openClosedRoom(limits: { requestsPerMinute?: number }) {
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(await startTestHub());
  const created = await hub.fetch("/rooms", { json: { name: "lab", closed: true } });
  const { room, hostToken, key } = (await created.json()) as {
    room: { code: string };
    hostToken: string;
    key: { value: string };
  };
  const keys = await hub.fetch(`/rooms/${room.code}/keys`, {
    json: { name: "bob", ...limits },
    headers: { "x-host-token": hostToken },
  });
  const bob = (await keys.json()) as { key: { value: string } };
  const provider = stack.use(await startFakeProvider());
  stack.use(await joinTunnel(hub, room.code, { endpoint: provider.url, key: key.value }));
  const owned = stack.move();
  return {
    ...{ hub, provider, key: bob.key.value, baseUrl: `${hub.url}/rooms/${room.code}/v1` },
    generations: () => generationsOf(provider),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** How many requests reached the model; listings and probes name none. */
function generationsOf({ requests }: FakeProvider): number {
  return requests.filter(({ json }) => json["model"] !== undefined).length;
}

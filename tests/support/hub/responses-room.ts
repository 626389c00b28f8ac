import { type FakeProviderOptions, startFakeProvider } from "../providers/fake-provider.ts";
import { join, type PATHS } from "./joining.ts";
import {
  connectResponses,
  type ResponsesClient,
  type SocketEvent,
} from "../clients/responses-client.ts";
import { startTestHub } from "./start-test-hub.ts";

type Behave = FakeProviderOptions["behave"];

/** A hub and a provider in one room, and a way to open sockets there. */
export async function openResponsesRoom(
  behave?: Behave,
  options: Parameters<typeof startTestHub>[0] = {},
  path: (typeof PATHS)[number] = "direct",
) {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(
    // A request without a model is a capability probe.
    await startFakeProvider({
      behave: (request) => (request.json["model"] === undefined ? undefined : behave?.(request)),
    }),
  );
  const hub = stack.use(await startTestHub(options));
  const code = await hub.createRoom();
  stack.use(await join(path, hub, code, { endpoint: provider.url }));
  const events = await hub.watch(code);
  const owned = stack.move();
  /** Bodies of turns as the provider got them. */
  const turns = () =>
    provider.requests.map(({ json }) => json).filter(({ model }) => model !== undefined);
  return {
    ...{ hub, provider, code, events },
    url: `${hub.url}/rooms/${code}/v1/responses`,
    turns,
    /** Resolves when a turn has reached the provider. */
    asked: () => provider.waitFor(() => turns().length > 0),
    async open(headers: Record<string, string> = {}): Promise<ResponsesClient> {
      return connectResponses(`${hub.url}/rooms/${code}/v1/responses`, { headers });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export const turn = { model: "*", input: "to be or not", store: false };

export function responseId(events: readonly SocketEvent[]): string {
  return events.at(-1)?.response?.id ?? "";
}

import { type ProviderClient, responseSecretsOf } from "@roomhub/provider";
import { openBudget } from "./budget/open-budget.ts";
import { callFunction } from "./function-call.ts";
import type { Settings } from "./options.ts";
import { createRequestHeads } from "./request-heads.ts";
import { ServedModel, type ServedModelOptions } from "./served-model.ts";
import type { ServeDeps } from "./served-request.ts";

type Callbacks = Pick<ServedModelOptions, "rename" | "onStatus" | "notify"> & {
  /** What is known of the model server's capabilities changed. */
  onCapabilities: () => void;
  /** The hub puts a request back that is refused since all slots are taken. */
  takesBack: () => boolean;
};

/** The model of a participant, behind an endpoint or a function, and what serving its requests takes. */
export function createServed(
  settings: Settings,
  provider: ProviderClient,
  { rename, onStatus, onCapabilities, takesBack, notify }: Callbacks,
): { served: ServedModel; deps: ServeDeps } {
  const { timing, baseUrl, serve, authHeaders, localHeaders, joinRequest, now } = settings;
  const headers = { ...authHeaders, ...localHeaders };
  const onFault = (error: unknown) => notify({ kind: "fault", error });
  const budget = openBudget(settings, headers, onFault);
  const served = new ServedModel({
    name: joinRequest.model,
    mayFollow: settings.mayFollowModel,
    server: {
      call:
        serve === undefined
          ? (request, sink) => provider.call(request, sink)
          : callFunction(serve, onFault),
      isFunction: serve !== undefined,
      isModelListed: settings.isModelListed,
      baseUrl,
      headers: () => headers,
      declared: () => settings.capabilities,
      modes: () => ({
        openResponses: joinRequest.config?.responses,
        messages: joinRequest.config?.messages,
      }),
      onCapabilities,
    },
    budget,
    timing,
    now,
    wallNow: settings.wallNow,
    rename,
    onStatus,
    notify,
  });
  const { endpointSlots, hubUrl, room } = settings;
  const seat = endpointSlots.open(baseUrl, `${hubUrl} ${room}`, () => {
    const { maxConcurrency = 0 } = joinRequest.config ?? {};
    return Math.max(maxConcurrency, served.server.engine?.slots ?? 0);
  });
  const deps: ServeDeps = {
    seat,
    takesBack,
    server: served.server,
    get model() {
      return served.name;
    },
    heads: createRequestHeads(localHeaders),
    secrets: responseSecretsOf(headers),
    now,
    isMetered: settings.isMetered,
    countsTokens: settings.countsTokens,
    running: new Set(),
    budget,
    notify,
  };
  return { served, deps };
}

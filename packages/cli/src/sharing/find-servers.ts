import { isSameModel, pause } from "@roomhub/protocol";
import { type Interactivity, waitingFor } from "../terminal/interactivity.ts";
import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import {
  findModelServers,
  type FoundServer,
  offerableModels,
  queryModelServer,
  serverText,
} from "./found-server.ts";
import { withKinds } from "./served-kind.ts";
import { duration } from "../terminal/text.ts";

/** The models to share, as named on the command line. */
export interface RequestedModels {
  /** undefined for the default servers of this machine */
  endpoint: string | undefined;
  /** by name; empty for the first one available */
  models: readonly string[];
  isAll: boolean;
  /** credentials for the model server */
  headers: Readonly<Record<string, string>>;
}

/** How often a loading server is queried. */
const queryAgainMs = 1_000;
/** As long as a hub waits for a loading server. */
const maxLoadingMs = 15 * 60_000;

/**
 * The model servers to choose from: the named one, or the default ones of this machine. Waits, and reports it, while a
 * requested model may still be loading.
 *
 * @throws CommandError when a server loads for longer than `loadingMs`
 */
export async function findServers(
  context: CliContext,
  requested: RequestedModels,
  interactivity: Interactivity,
): Promise<FoundServer[]> {
  const servers = await findLoaded(context, requested, interactivity);
  // A model that was named is shared for everything that its server supports.
  return requested.models.length > 0 ? servers : withKinds(context, servers, requested.headers);
}

async function findLoaded(
  context: CliContext,
  requested: RequestedModels,
  interactivity: Interactivity,
): Promise<FoundServer[]> {
  const find = () => queryAll(context, requested);
  let servers = await waitingFor(context, waitText(requested), find(), interactivity);
  const awaited = awaitedServer(servers, requested);
  if (awaited === undefined) return servers;
  const text = `${serverText(awaited)} is loading its model`;
  const loaded = async () => {
    const startMs = context.world.wallMs();
    while (awaitedServer(servers, requested) !== undefined) {
      if (context.world.wallMs() - startMs > maxLoadingMs) {
        const message = `${serverText(awaited)} has been loading its model for over ${duration(maxLoadingMs)}`;
        throw new CommandError(message, "check its log");
      }
      await pause(context.world, queryAgainMs);
      servers = await find();
    }
    return servers;
  };
  return waitingFor(context, text, loaded(), { ...interactivity, afterMs: 0 });
}

async function queryAll(
  context: CliContext,
  { endpoint, headers }: RequestedModels,
): Promise<FoundServer[]> {
  if (endpoint === undefined) return findModelServers(context, headers);
  return [await queryModelServer(context, endpoint, headers)];
}

function waitText({ endpoint }: RequestedModels): string {
  return endpoint === undefined
    ? "Looking for model servers on this machine"
    : `Waiting for ${endpoint} to list its models`;
}

/** The loading server whose models are needed for the choice. */
function awaitedServer(
  servers: readonly FoundServer[],
  requested: RequestedModels,
): FoundServer | undefined {
  const loading = servers.find(({ readiness }) => readiness === "loading");
  if (loading === undefined) return undefined;
  // A participant with a named model may join before its server is ready.
  if (requested.endpoint !== undefined) return requested.models.length > 0 ? undefined : loading;
  if (requested.isAll) return loading;
  const listed = servers.flatMap(({ models = [] }) => models);
  const isEnough =
    requested.models.length > 0
      ? requested.models.every((name) => listed.some((known) => isSameModel(known, name)))
      : offerableModels(listed).length > 0;
  return isEnough ? undefined : loading;
}

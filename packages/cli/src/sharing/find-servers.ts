import { isSameModel } from "@roomhub/protocol";
import type { Interactivity } from "../terminal/interactivity.ts";
import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import {
  findModelServers,
  type FoundServer,
  offerableModels,
  queryModelServer,
  serverText,
} from "./found-server.ts";
import { waitingFor } from "../terminal/progress.ts";
import { duration } from "../terminal/text.ts";

/** What is to be shared, as the command line says it. */
export interface RequestedModels {
  /** undefined for the usual servers of this machine */
  endpoint: string | undefined;
  /** by name; empty for the first there is */
  models: readonly string[];
  isAll: boolean;
  /** credentials for the model server */
  headers: Readonly<Record<string, string>>;
}

/** A server that loads is queried this often. */
const queryAgainMs = 1_000;
/** As long as a hub waits for it. */
const maxLoadingMs = 15 * 60_000;

/**
 * The model servers to choose from: the one that was named, or the usual ones of this machine. Waits while what is wished
 * for may still be loading, and says so.
 *
 * @throws CommandError when a server loads for longer than `loadingMs`
 */
export async function findServers(
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
    const startMs = context.nowMs();
    while (awaitedServer(servers, requested) !== undefined) {
      if (context.nowMs() - startMs > maxLoadingMs) {
        throw new CommandError(`${text}, for over ${duration(maxLoadingMs)}`, "read its log");
      }
      await new Promise<void>((resolve) => context.after(queryAgainMs, resolve));
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

/** The server whose models must be known before there is anything to choose from. */
function awaitedServer(
  servers: readonly FoundServer[],
  requested: RequestedModels,
): FoundServer | undefined {
  const loading = servers.find(({ readiness }) => readiness === "loading");
  if (loading === undefined) return undefined;
  // A participant may join before its server is ready, as long as its model is known.
  if (requested.endpoint !== undefined) return requested.models.length > 0 ? undefined : loading;
  if (requested.isAll) return loading;
  const listed = servers.flatMap(({ models = [] }) => models);
  const isEnough =
    requested.models.length > 0
      ? requested.models.every((name) => listed.some((known) => isSameModel(known, name)))
      : offerableModels(listed).length > 0;
  return isEnough ? undefined : loading;
}

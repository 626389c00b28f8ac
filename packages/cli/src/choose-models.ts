import type { Asking } from "./asking.ts";
import type { CliContext } from "./context.ts";
import { CommandError } from "./exit-code.ts";
import {
  askModelServer,
  findModelServers,
  isSameModel,
  type ModelServer,
  offerableModels,
} from "./model-server.ts";
import { nearest } from "./nearest.ts";
import { waitingFor } from "./progress.ts";
import { safe } from "./text.ts";

/** A model to share, and the server that has it. */
export interface ModelChoice {
  endpoint: string;
  model: string;
  /** undefined when the endpoint was named by the user */
  serverName: string | undefined;
}

export interface ModelWish {
  /** undefined for the usual servers of this machine */
  endpoint: string | undefined;
  /** by name; empty for the first there is */
  models: readonly string[];
  isAll: boolean;
  /** sent along when the endpoint is asked for its models */
  headers: Record<string, string>;
}

/**
 * The models to share: those named, all of them, those picked at the terminal, or the first.
 *
 * @returns none when nothing was said about an endpoint, and no model server answers
 * @throws CommandError with the next step
 */
export async function chooseModels(
  context: CliContext,
  wish: ModelWish,
  asking: Asking,
): Promise<ModelChoice[]> {
  const { endpoint, models } = wish;
  const servers = await serversOf(context, wish, asking);
  if (models.length > 0) {
    return models.map((model) => namedModel(context, model, endpoint, servers)).filter(isThere);
  }
  const offered = servers.flatMap(choicesOf);
  const [first] = offered;
  if (first === undefined) {
    if (endpoint === undefined && servers.length === 0) return [];
    throw noModel(endpoint, servers[0]);
  }
  if (wish.isAll) return offered;
  if (!asking.canAsk || offered.length === 1) return [first];
  const choices = offered.map((choice) => ({
    value: choice,
    label: safe(choice.model),
    hint: safe(choice.serverName ?? choice.endpoint),
  }));
  return context.prompts.pickSome("Which models do you share?", choices, [first]);
}

async function serversOf(
  context: CliContext,
  { endpoint, headers }: ModelWish,
  asking: Asking,
): Promise<ModelServer[]> {
  if (endpoint === undefined) {
    return waitingFor(
      context,
      "Looking for model servers on this machine",
      findModelServers(context),
      asking,
    );
  }
  const what = `Waiting for ${endpoint} to list its models`;
  const asked = askModelServer(context, endpoint, headers);
  const server = await waitingFor(context, what, asked, asking);
  return server === undefined ? [] : [server];
}

function choicesOf({ endpoint, name, models }: ModelServer): ModelChoice[] {
  return offerableModels(models).map((model) => ({ endpoint, model, serverName: name }));
}

/** An endpoint that somebody names may know models that it does not list, or not be up yet: that is only said. */
function namedModel(
  context: CliContext,
  model: string,
  endpoint: string | undefined,
  servers: readonly ModelServer[],
): ModelChoice | undefined {
  const server = servers.find(({ models }) => models.some((known) => isSameModel(known, model)));
  if (server !== undefined) return { endpoint: server.endpoint, model, serverName: server.name };
  const known = servers.flatMap(({ models }) => models);
  const meant = nearModel(model, known);
  if (endpoint !== undefined) {
    if (known.length > 0) {
      const hint = meant === undefined ? "" : `; did you mean ${safe(meant)}?`;
      context.stderr.write(`! ${endpoint} does not list ${safe(model)}${hint}\n`);
    }
    return { endpoint, model, serverName: undefined };
  }
  if (servers.length === 0) return undefined;
  throw new CommandError(`No model server on this machine has ${model}`, hintFor(servers, meant));
}

/** The same model in another size first, whichever of the two names has a size: `llama3`, `llama3:8b`, `llama3:latest`. */
function nearModel(model: string, known: readonly string[]): string | undefined {
  const [family = ""] = model.toLowerCase().split(":");
  return known.find((name) => name.toLowerCase().startsWith(family)) ?? nearest(model, known);
}

function hintFor(servers: readonly ModelServer[], meant: string | undefined): string {
  if (meant !== undefined) return `did you mean --model ${meant}?`;
  const known = servers.flatMap(({ name, models }) => models.map((id) => `${id} (${name ?? ""})`));
  return known.length === 0
    ? "load it there first"
    : `choose one of: ${known.slice(0, 8).join(", ")}`;
}

function noModel(endpoint: string | undefined, server: ModelServer | undefined): CommandError {
  if (server === undefined) {
    return new CommandError(
      `${endpoint} does not list its models, so the model is unknown`,
      "check that it runs and that the URL is right, or name the model with --model NAME",
    );
  }
  if (server.name === undefined) {
    return new CommandError(`${server.endpoint} has no model`, "name one with --model NAME");
  }
  return new CommandError(
    `${server.name} answers at ${server.endpoint} but has no model`,
    server.name === "Ollama" ? "ollama pull llama3.2" : "load a model there first",
  );
}

function isThere<T>(value: T | undefined): value is T {
  return value !== undefined;
}

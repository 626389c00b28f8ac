import { isSameModel } from "@roomhub/protocol";
import type { Interactivity } from "../terminal/interactivity.ts";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import type { RequestedModels } from "./find-servers.ts";
import {
  credentialsProblem,
  type FoundServer,
  noModelServer,
  offerableModels,
  serverText,
} from "./found-server.ts";
import type { ParticipantOptions } from "@roomhub/participant";
import { nearest } from "../terminal/nearest.ts";
import { safe, shellWord } from "../terminal/text.ts";

/** A model to share, and the server that serves it. */
export interface ModelChoice {
  endpoint: string;
  model: string;
  /** undefined when the endpoint was named by the user */
  serverName: string | undefined;
  /** options of its participant that follow from what the server showed */
  traits: Pick<ParticipantOptions, "isModelListed" | "capabilities">;
}

/**
 * The models to share: those named, all of them, those picked at the terminal, or the first.
 *
 * @param servers - from `findServers`
 * @throws CommandError with the next step when there is nothing to share
 */
export async function chooseModels(
  context: CliContext,
  requested: RequestedModels,
  servers: readonly FoundServer[],
  interactivity: Interactivity,
): Promise<ModelChoice[]> {
  const { endpoint, models } = requested;
  if (endpoint === undefined && servers.length === 0) throw noModelServer(context);
  if (models.length > 0)
    return models.map((model) => namedModel(context, model, requested, servers));
  const offered = servers.flatMap(choicesOf);
  const [first] = offered;
  if (first === undefined) throw nothingToShare(servers, requested);
  if (requested.isAll) return offered;
  if (!interactivity.canAsk || offered.length === 1) return [first];
  const choices = offered.map((choice) => ({
    value: choice,
    label: safe(choice.model),
    hint: safe(choice.serverName ?? choice.endpoint),
  }));
  return context.prompts.pickSome("Select models to share", choices, [first]);
}

/** Models for text first. */
function choicesOf(server: FoundServer): ModelChoice[] {
  const { endpoint, name, models = [], capabilitiesByModel } = server;
  const isOther = (model: string) => Number(capabilitiesByModel?.has(model) ?? false);
  return offerableModels(models)
    .toSorted((a, b) => isOther(a) - isOther(b))
    .map((model) => ({ endpoint, model, serverName: name, traits: traitsOf(server, model) }));
}

function traitsOf(
  { capabilities, capabilitiesByModel }: FoundServer,
  model: string,
): ModelChoice["traits"] {
  const its = capabilitiesByModel?.get(model) ?? capabilities;
  return { isModelListed: true, ...(its === undefined ? {} : { capabilities: its }) };
}

/** Only warns about a named endpoint, which may serve unlisted models or not be ready yet. */
function namedModel(
  context: CliContext,
  model: string,
  { endpoint, headers }: RequestedModels,
  servers: readonly FoundServer[],
): ModelChoice {
  const server = servers.find(({ models = [] }) =>
    models.some((known) => isSameModel(known, model)),
  );
  if (server !== undefined) {
    const traits = traitsOf(server, model);
    return { endpoint: server.endpoint, model, serverName: server.name, traits };
  }
  const known = servers.flatMap(({ models = [] }) => models);
  const meant = nearModel(model, known);
  const unlisted = servers.find(listsNone);
  // Nothing but a server that lists no models can have it.
  const place = endpoint ?? (known.length === 0 ? unlisted?.endpoint : undefined);
  if (place === undefined) {
    const message = `No model server on this machine has ${model}`;
    throw new CommandError(message, hintFor(servers, meant));
  }
  const warn = (text: string) => context.stderr.write(`! ${text}\n`);
  const locked = servers.find(isLocked);
  if (locked !== undefined) {
    const { problem, fix } = credentialsProblem(locked, headers);
    warn(`${problem}; ${fix}`);
  } else if (known.length > 0) {
    const hint = meant === undefined ? "" : `; did you mean ${safe(meant)}?`;
    warn(`${endpoint} does not list ${safe(model)}${hint}`);
  }
  const traits = unlisted?.capabilities ? { capabilities: unlisted.capabilities } : {};
  return { endpoint: place, model, serverName: unlisted?.name, traits };
}

/** Prefers the same model in another size: `llama3`, `llama3:8b`, `llama3:latest`. */
function nearModel(model: string, known: readonly string[]): string | undefined {
  const [family = ""] = model.toLowerCase().split(":");
  return known.find((name) => name.toLowerCase().startsWith(family)) ?? nearest(model, known);
}

function hintFor(servers: readonly FoundServer[], meant: string | undefined): string {
  if (meant !== undefined) return `did you mean --model ${meant}?`;
  const known = servers.flatMap(({ name, models = [] }) =>
    models.map((id) => `${id} (${name ?? ""})`),
  );
  if (known.length === 0) return "load the model first";
  const choice = `choose one of: ${known.slice(0, 8).join(", ")}`;
  const unlisted = servers.find(listsNone);
  if (unlisted === undefined) return choice;
  return `${choice}; for ${serverText(unlisted)}, add --endpoint ${shellWord(unlisted.endpoint)}`;
}

/** Why none of these servers has a model to share, the most specific reason first. */
function nothingToShare(
  servers: readonly FoundServer[],
  { headers }: RequestedModels,
): CommandError {
  const empty = servers.find(({ models }) => models !== undefined);
  if (empty !== undefined) return withoutModel(empty);
  const locked = servers.find(isLocked);
  if (locked !== undefined) {
    const { problem, fix } = credentialsProblem(locked, headers);
    return new CommandError(beginning(problem), fix, EXIT.refused);
  }
  const unlisted = servers.find(listsNone);
  if (unlisted !== undefined) {
    const join = `--endpoint ${shellWord(unlisted.endpoint)} --model whisper`;
    return new CommandError(
      `${beginning(serverText(unlisted))} transcribes, and does not list its model`,
      `give the model a name: ${join}`,
    );
  }
  const [first] = servers;
  if (first === undefined || first.status === undefined) {
    return new CommandError(
      `No response from ${first === undefined ? "a model server" : serverText(first)}`,
      "check that it is running and that the URL is correct, or name the model with --model NAME",
      EXIT.unreachable,
    );
  }
  return new CommandError(
    `${beginning(serverText(first))} does not list its models (${first.status}), so the model is unknown`,
    "check that the URL is correct, or name the model with --model NAME",
  );
}

function withoutModel({ endpoint, name }: FoundServer): CommandError {
  if (name === undefined) {
    return new CommandError(`${endpoint} has no models`, "name one with --model NAME");
  }
  return new CommandError(
    `${name} at ${endpoint} has no models`,
    name === "Ollama" ? "ollama pull llama3.2" : "load a model first",
  );
}

/** Capitalizes a leading article; a program's name keeps its spelling. */
function beginning(text: string): string {
  return text.replace(/^the /, "The ");
}

/** A server whose models have no names, but a known purpose. */
function listsNone({ models, capabilities }: FoundServer): boolean {
  return models === undefined && capabilities != null;
}

function isLocked({ readiness }: FoundServer): boolean {
  return readiness === "needs-credentials";
}

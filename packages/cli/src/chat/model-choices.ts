import {
  type InferenceProtocol,
  isLiveAndReady,
  type ParticipantSummary,
  type RouteExplanation,
  withoutLatest,
  timeoutSignal,
  type World,
} from "@roomhub/protocol";
import { canReplaceStandIn, tokensText } from "@roomhub/room-state";
import type { Client } from "../capabilities.ts";
import { duration, safe } from "../terminal/text.ts";

/** More models are listed without a speed. */
const explainedModels = 16;
/** A hub that is slow to explain delays no choice. */
const patienceMs = 1_000;
/** Length of a typical first message. */
const promptBytes = 100;

/** A model to chat with. */
export interface ModelChoice {
  /** for the `model` field */
  selector: string;
  name: string;
  /** who shares it, its context, and its measured speed, or why it does not respond */
  facts: string;
  /** tokens; undefined when the room does not know */
  context: number | undefined;
}

/**
 * The models of a room that can chat; models that can take a request now come first. A stand-in is left out while another
 * model can chat. Its selector is `*`, so that a model that joins later serves the conversation.
 */
export async function modelChoices(
  world: World,
  client: Client,
  room: string,
  protocol: InferenceProtocol = "chatCompletions",
): Promise<ModelChoice[]> {
  const participants = await client.listParticipants(room);
  const models = byModel(participants);
  const names = [...models.keys()].slice(0, explainedModels);
  const signal = timeoutSignal(world, patienceMs);
  const routes = await Promise.all(
    names.map((model) =>
      client
        .explainRoute(room, { model, promptBytes, protocol }, { signal })
        .catch(() => undefined),
    ),
  );
  return [...models]
    .map(([model, sharing], index) => choiceOf(model, sharing, routes[index]))
    .toSorted((one, other) => Number(other.isReady) - Number(one.isReady))
    .map(({ choice }) => choice);
}

function byModel(participants: readonly ParticipantSummary[]): Map<string, ParticipantSummary[]> {
  const isReplaced = participants.some(canReplaceStandIn);
  const models = new Map<string, ParticipantSummary[]>();
  for (const participant of participants) {
    const { status, capabilities, standIn, model } = participant;
    if (status === "offline" || capabilities.chatCompletions === "unsupported") continue;
    if (standIn === true && isReplaced) continue;
    const name = withoutLatest(model);
    models.set(name, [...(models.get(name) ?? []), participant]);
  }
  return models;
}

function choiceOf(
  model: string,
  sharing: readonly ParticipantSummary[],
  route: RouteExplanation | undefined,
): { choice: ModelChoice; isReady: boolean } {
  const isReady = sharing.some(isLiveAndReady);
  const isStandIn = sharing.every(({ standIn }) => standIn === true);
  const hasProblem = sharing.every(({ connection }) => connection.problem !== undefined);
  const state = isReady && !hasProblem ? speedOf(route) : problemOf(sharing);
  const who = names([...new Set(sharing.map(({ nickname }) => safe(nickname)))]);
  // "Ana has paused sharing llama3" names her already.
  const isNamed = state?.startsWith(`${who} `) === true;
  const context = contextOf(sharing, "*");
  const facts = [
    isNamed ? undefined : who,
    isStandIn ? "stand-in" : undefined,
    context === undefined ? undefined : `${tokensText(context)} context`,
    state,
  ].filter((fact) => fact !== undefined);
  const selector = isStandIn ? "*" : model;
  const choice = { selector, name: safe(model), facts: facts.join(", "), context };
  return { choice, isReady };
}

/**
 * Tokens that a selector's participants take: those of the one that takes most, which is where a request goes that is too
 * long for the others. Undefined when the room does not know.
 */
export function contextOf(
  participants: readonly ParticipantSummary[],
  selector: string,
): number | undefined {
  const model = withoutLatest(selector.replace(/^model:/, ""));
  const sharing = participants.filter(
    (one) => selector === "*" || one.id === selector || withoutLatest(one.model) === model,
  );
  const known = sharing.flatMap(({ context }) =>
    // Model servers load less than the model was trained with.
    context === undefined || context.from === "trained" ? [] : [context.tokens],
  );
  return known.length === 0 ? undefined : Math.max(...known);
}

/** How soon the fastest participant is expected to respond. */
function speedOf(route: RouteExplanation | undefined): string | undefined {
  const times = route?.participants.flatMap(({ expected }) => expected?.firstTokenMs ?? []) ?? [];
  return times.length === 0 ? undefined : `first token in about ${duration(Math.min(...times))}`;
}

function problemOf([first]: readonly ParticipantSummary[]): string | undefined {
  if (first === undefined) return undefined;
  const { problem, readiness, connected } = first.connection;
  return problem === undefined ? (connected ? readiness : "not connected") : safe(problem);
}

/** `Ana`, `Ana and Ben`, `Ana, Ben and 3 more` */
function names(all: readonly string[]): string {
  const shown = all.length > 3 ? [...all.slice(0, 2), `${all.length - 2} more`] : all;
  return shown.length < 2
    ? shown.join("")
    : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1) ?? ""}`;
}

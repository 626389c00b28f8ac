import type {
  ParticipantStatus,
  Connection,
  Load,
  ModelEntry,
  ParticipantSummary,
  Room as RoomView,
  AnthropicModel,
  AnthropicModelList,
} from "@roomhub/protocol";
import { isConnected, type Participant } from "./participant.ts";
import { doubtOf, isRoutable, loadingOf, readinessOf, unroutableReason } from "./readiness.ts";
import type { Room } from "./room.ts";
import { noDemand, type Permits } from "./needs/demand.ts";
import { parseSelector, standInsLast } from "./selection-query.ts";
import { matching, permittedIn } from "./selector.ts";
import type { Alias } from "./aliases/alias-table.ts";

/** The public view of a room. Every field is named and nothing is spread, so that no new secret appears. */
export function roomView(room: Room): RoomView {
  return {
    id: room.id,
    code: room.code,
    name: room.name,
    hostId: room.hostId,
    createdAt: room.createdAt,
    passwordProtected: room.isPasswordProtected,
    participantCount: room.participants.size,
    closed: room.isClosed ? true : undefined,
  };
}

/**
 * The public view of a participant. `config.instructions` is private: it shows only whether there are any. Contract §1.
 *
 * @param nowMs - ms on the hub's clock, as for all views with a connection
 */
export function participantView(participant: Participant, nowMs: number): ParticipantSummary {
  const { learned } = participant;
  const { instructions, ...config } = participant.config;
  return {
    id: participant.id,
    nickname: participant.nickname,
    model: participant.model,
    endpoint: participant.endpoint,
    status: statusOf(participant, nowMs),
    connection: connectionView(participant, nowMs),
    specs: participant.specs,
    config: {
      ...config,
      hasInstructions:
        instructions !== undefined || participant.presence.returning?.instructions === true,
    },
    capabilities: learned.capabilities,
    joinedAt: participant.presence.joinedAt,
    lastSeen: participant.presence.lastSeenAt,
    load: loadView(participant),
    agentId: participant.agentId,
    liveness: participant.liveness,
    standIn: participant.isStandIn || undefined,
    only: participant.only && [...participant.only],
    batches: participant.batches,
    loadedModels: learned.loadedModels && [...learned.loadedModels],
    context: learned.context,
    features: learned.features,
    answersAs: learned.facts.answersAs,
    budget: participant.load.budget,
  };
}

/** Contract §1: it may be alive and connected without being able to serve a request. */
function statusOf(participant: Participant, nowMs: number): ParticipantStatus {
  const { status } = participant.presence;
  if (status === "offline" || !isConnected(participant)) return status;
  const readiness = readinessOf(participant);
  // A used-up budget renews by itself.
  const isServing = readiness === "ready" || readiness === "loading";
  return isServing || isRoutable(participant, () => nowMs) ? "online" : "unavailable";
}

/** Interface §2, connection block. */
export function connectionView(participant: Participant, nowMs: number): Connection {
  const problems = [
    unroutableReason(participant, nowMs) ?? doubtOf(participant),
    participant.paths.tunnelProblem,
  ];
  const problem = problems.filter((each) => each !== undefined).join("; ");
  return {
    kind: "tunnel",
    connected: isConnected(participant),
    lastTunnelSeenAt:
      participant.paths.lastContactAt === null
        ? null
        : new Date(participant.paths.lastContactAt).toISOString(),
    path: pathOf(participant),
    readiness: readinessOf(participant),
    resuming: gapView(participant, nowMs),
    loading: loadingOf(participant, nowMs),
    problem: problem || undefined,
  };
}

function gapView({ paths: { tunnel } }: Participant, nowMs: number): Connection["resuming"] {
  if (tunnel.kind !== "interrupted") return undefined;
  const sinceMs = Math.max(0, Math.round(nowMs - tunnel.sinceMs));
  return { streams: tunnel.streams, sinceMs };
}

/** One entry of the models list. Contract §4: `created` in seconds. */
export function modelView(participant: Participant, nowMs: number): ModelEntry {
  const { learned } = participant;
  const tokens = knownTokens(participant);
  return {
    id: participant.id,
    object: "model",
    created: Math.floor(participant.presence.joinedAt / 1000),
    owned_by: participant.nickname,
    name: `${participant.nickname} (${participant.model})`,
    // The context under each name that clients read. Contract §4, "Models list".
    ...{ context_length: tokens, max_model_len: tokens, max_input_tokens: tokens },
    meta: tokens === undefined ? undefined : { n_ctx: tokens },
    service: {
      nickname: participant.nickname,
      model: participant.model,
      endpoint: participant.endpoint,
      capabilities: learned.capabilities,
      connection: connectionView(participant, nowMs),
      load: loadView(participant),
      context: tokens === undefined ? undefined : learned.context,
      features: learned.features,
    },
  };
}

/** How many tokens a prompt may have, where that limits it. */
function knownTokens({ learned: { usableTokens } }: Participant): number | undefined {
  return Number.isFinite(usableTokens) ? usableTokens : undefined;
}

/** @param permits - the models that are listed */
export function modelViews(room: Room, nowMs: number, permits: Permits = noDemand): ModelEntry[] {
  return onlineReadyFirst(room, nowMs, permits).map((one) => modelView(one, nowMs));
}

/** Every participant that is online, ready ones first, otherwise in join order; stand-ins as in every list. Contract §4. */
function onlineReadyFirst(room: Room, nowMs: number, permits: Permits): Participant[] {
  const online = permittedIn(room, permits).filter((one) => one.presence.status === "online");
  const ready = online.filter((one) => readinessOf(one) === "ready");
  const others = online.filter((one) => readinessOf(one) !== "ready");
  return standInsLast(room, [...ready, ...others], nowMs);
}

/** How busy a participant is. */
export function loadView(participant: Participant): Load {
  const { active, queued, limit, limitFrom, batch, batchQueued } = participant.load;
  const { elsewhere } = participant.learned.reported;
  return {
    ...{ active, queued, limit, limitFrom, elsewhere: elsewhere || undefined },
    batch: batch + batchQueued === 0 ? undefined : { active: batch, queued: batchQueued },
    machine: sharedMachine(participant),
  };
}

/** With one participant, or without slots, the machine adds nothing to the participant. */
function sharedMachine({ load }: Participant): Load["machine"] {
  const { machine } = load;
  if (machine === undefined) return undefined;
  const { id, active, limit, members } = machine;
  if (members.size <= 1 || !Number.isFinite(limit)) return undefined;
  return { id, active, limit, participants: members.size };
}

function pathOf(participant: Participant): Connection["path"] {
  if (participant.paths.tunnel.kind !== "closed") return "tunnel";
  return participant.paths.direct.kind === "refused" ? "none" : "direct";
}

/**
 * The participants as in the models list, then the aliases, the oldest first. Contract §4, "Models list".
 *
 * Clients of Anthropic's list only names that begin with `claude` or `anthropic`, which a room has as aliases.
 */
export function anthropicModels(
  room: Room,
  nowMs: number,
  permits: Permits = noDemand,
): AnthropicModelList {
  const permitted = permittedIn(room, permits);
  const aliases =
    permits.models === undefined
      ? room.aliases.list
      : room.aliases.list.filter(({ targets }) =>
          targets.some((target) => matching(permitted, parseSelector(target)).length > 0),
        );
  const data = [
    ...onlineReadyFirst(room, nowMs, permits).map(anthropicModel),
    ...aliases.map(anthropicAlias),
  ];
  const first_id = data[0]?.id ?? null;
  return { data, has_more: false, first_id, last_id: data.at(-1)?.id ?? null };
}

export function anthropicModel(participant: Participant): AnthropicModel {
  const { id, nickname, model, presence } = participant;
  const shown = entry(id, `${nickname} (${model})`, presence.joinedAt);
  return { ...shown, max_input_tokens: knownTokens(participant) };
}

function anthropicAlias({ pattern, targets, createdAt }: Alias): AnthropicModel {
  return entry(pattern, `${pattern} → ${targets.join(", ")}`, createdAt);
}

/** @param createdAt - epoch ms */
function entry(id: string, display_name: string, createdAt: number): AnthropicModel {
  return { type: "model", id, display_name, created_at: new Date(createdAt).toISOString() };
}

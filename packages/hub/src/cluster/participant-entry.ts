import type { Budget, LimitSource, Readiness } from "@roomhub/protocol";
import type { BlankCounters } from "../domain/blank-counters.ts";
import { capabilitiesOf, type HubIdentity, type Participant } from "../domain/participant.ts";

/**
 * One participant as all hubs know it. No secret is in it: digests of its tokens, and of its `config` what listings show.
 * Times are epoch ms.
 */
export interface ParticipantEntry {
  version: 1;
  roomCode: string;
  id: string;
  /** of the registration: the same id under another key is another participant */
  key: string;
  /** null once the hub that owned it is dead */
  owner: HubIdentity | null;
  nickname: string;
  model: string;
  endpoint: string;
  specs: Participant["specs"];
  config: Participant["config"];
  hasInstructions: boolean;
  /** Its owner has instructions or `authHeaders` of it. */
  hasSecrets: boolean;
  declaredCapabilities: Participant["declaredCapabilities"];
  learnedCapabilities: Participant["learnedCapabilities"];
  refusesStreamUsage: boolean;
  reportsUsageItself: boolean;
  isTunnelOnly: boolean;
  liveness: Participant["liveness"] | null;
  /** absent for no */
  standIn?: boolean;
  registrant: { address: string | null; hasOrigin: boolean; throttleKey: string };
  /** base64 of a SHA-256, as the next two */
  tokenDigest: string;
  machineDigest: string | null;
  clientKeyDigest: string | null;
  /** absent from a hub that does not say */
  agentId?: string | null;
  ownerAddress: string | null;
  status: Participant["status"];
  path: EntryPath;
  tunnelProblem: string | null;
  budget: Budget | null;
  restsUntil: number | null;
  loadedModels: readonly string[] | null;
  limit: number;
  limitFrom: LimitSource;
  machine: { id: string; active: number; limit: number } | null;
  /** of the machine that it shares with participants of other hubs; absent from a hub that does not say */
  machineKey?: string | null;
  joinedAt: number;
  lastSeenAt: number;
  lastContactAt: number | null;
}

/** How requests reach it from the hub that owns it. */
type EntryPath =
  | {
      kind: "tunnel" | "direct";
      readiness: Readiness;
      problem: string;
      since: number;
      /** how many requests wait for its connection, which is lost since then; the rest says that it loads */
      resuming?: number | undefined;
    }
  | { kind: "untried" }
  | { kind: "none"; problem: string };

/** What tells the times of this process from those of others. */
export interface Clocks {
  /** ms, monotonic */
  nowMs: () => number;
  /** epoch ms */
  wallMs: () => number;
}

/** The entry of a participant of this hub, or of another one's as this hub knows it. */
export function encodeParticipant(
  participant: Participant,
  {
    owner,
    machine,
    machineKey,
    hasSecrets,
  }: Pick<ParticipantEntry, "owner" | "machine" | "machineKey" | "hasSecrets">,
  clocks: Clocks,
): ParticipantEntry {
  const { instructions, ...config } = participant.config;
  const { registrant, restsUntilMs } = participant;
  return {
    version: 1,
    roomCode: participant.roomCode,
    id: participant.id,
    key: participant.key,
    owner,
    nickname: participant.nickname,
    model: participant.model,
    endpoint: participant.endpoint,
    specs: participant.specs,
    config,
    hasInstructions: instructions !== undefined,
    hasSecrets,
    declaredCapabilities: participant.declaredCapabilities,
    learnedCapabilities: participant.learnedCapabilities,
    refusesStreamUsage: participant.refusesStreamUsage,
    reportsUsageItself: participant.reportsUsageItself,
    isTunnelOnly: participant.isTunnelOnly,
    liveness: participant.liveness ?? null,
    standIn: participant.isStandIn,
    registrant: { ...registrant, address: registrant.address ?? null },
    tokenDigest: base64(participant.tokenDigest),
    machineDigest: optionalBase64(participant.machineDigest),
    clientKeyDigest: optionalBase64(participant.clientKeyDigest),
    agentId: participant.agentId ?? null,
    ownerAddress: participant.ownerAddress ?? null,
    status: participant.status,
    path: pathOf(participant, clocks),
    tunnelProblem: participant.tunnelProblem ?? null,
    budget: participant.budget ?? null,
    restsUntil: restsUntilMs === undefined ? null : toEpoch(restsUntilMs, clocks),
    loadedModels: participant.loadedModels ?? null,
    limit: participant.limit,
    limitFrom: participant.limitFrom,
    machine,
    machineKey: machineKey ?? null,
    joinedAt: participant.joinedAt,
    lastSeenAt: participant.lastSeenAt,
    lastContactAt: participant.lastContactAt,
  };
}

/** What an entry says of a participant that another hub owns, as its fields here. */
export function remoteFields(entry: ParticipantEntry, clocks: Clocks): RemoteFields {
  const { owner, machine, registrant, restsUntil, hasInstructions } = entry;
  const { declaredCapabilities, learnedCapabilities } = entry;
  return {
    id: entry.id,
    nickname: entry.nickname,
    model: entry.model,
    endpoint: entry.endpoint,
    specs: entry.specs,
    // The text stays with the owner; that there is one is shown here too.
    config: hasInstructions ? { ...entry.config, instructions: "" } : entry.config,
    declaredCapabilities,
    learnedCapabilities,
    capabilities: capabilitiesOf({ declaredCapabilities, learnedCapabilities }),
    refusesStreamUsage: entry.refusesStreamUsage,
    reportsUsageItself: entry.reportsUsageItself,
    isTunnelOnly: entry.isTunnelOnly,
    liveness: entry.liveness ?? undefined,
    isStandIn: entry.standIn === true,
    registrant: { ...registrant, address: registrant.address ?? undefined },
    tokenDigest: Buffer.from(entry.tokenDigest, "base64"),
    machineDigest: optionalBytes(entry.machineDigest),
    clientKeyDigest: optionalBytes(entry.clientKeyDigest),
    agentId: entry.agentId ?? undefined,
    ownerAddress: entry.ownerAddress ?? undefined,
    status: entry.status,
    ...pathsOf(entry, clocks),
    tunnelProblem: entry.tunnelProblem ?? undefined,
    budget: entry.budget ?? undefined,
    restsUntilMs: restsUntil === null ? undefined : toMonotonic(restsUntil, clocks),
    loadedModels: entry.loadedModels ?? undefined,
    limit: entry.limit,
    limitFrom: entry.limitFrom,
    joinedAt: entry.joinedAt,
    lastSeenAt: entry.lastSeenAt,
    lastSeenMs: toMonotonic(entry.lastSeenAt, clocks),
    lastContactAt: entry.lastContactAt,
    owner: owner ?? undefined,
    machineView: machine ?? undefined,
  };
}

/** {@link remoteFields}: of `machine` only what is shown, since its slots are counted by the owner. */
export type RemoteFields = Omit<
  Participant,
  | "roomCode"
  | "key"
  | "remote"
  | keyof BlankCounters
  | "credentials"
  | "baseUrl"
  | "endpointOrigin"
  | "joinedMs"
  | "returning"
  | "lastContactMs"
  | "lastUsedMs"
> & {
  owner: HubIdentity | undefined;
  machineView: { id: string; active: number; limit: number } | undefined;
};

/** Whether a value from the bucket is an entry of this version; further fields are ignored. */
export function isParticipantEntry(value: unknown): value is ParticipantEntry {
  if (typeof value !== "object" || value === null) return false;
  const entry = value as Partial<Record<keyof ParticipantEntry, unknown>>;
  const texts = [entry.roomCode, entry.id, entry.key, entry.nickname, entry.model, entry.endpoint];
  const objects = [entry.config, entry.declaredCapabilities, entry.registrant, entry.path];
  return (
    entry.version === 1 &&
    [...texts, entry.tokenDigest].every((text) => typeof text === "string") &&
    objects.every((object) => typeof object === "object" && object !== null) &&
    typeof entry.limit === "number" &&
    (entry.status === "online" || entry.status === "offline")
  );
}

function pathOf({ tunnel, direct }: Participant, clocks: Clocks): EntryPath {
  if (tunnel.kind === "resuming") {
    const since = toEpoch(tunnel.sinceMs, clocks);
    const { streams: resuming } = tunnel;
    return { kind: "tunnel", readiness: "loading", problem: "", since, resuming };
  }
  const open =
    tunnel.kind === "open"
      ? ({ kind: "tunnel", verdict: tunnel } as const)
      : direct.kind === "answered"
        ? ({ kind: "direct", verdict: direct } as const)
        : undefined;
  if (open !== undefined) {
    const { readiness, problem, sinceMs } = open.verdict;
    return { kind: open.kind, readiness, problem, since: toEpoch(sinceMs, clocks) };
  }
  if (direct.kind === "refused" || direct.kind === "failed") {
    return { kind: "none", problem: direct.reason };
  }
  return { kind: "untried" };
}

const ownerIsDead = "the hub it was connected to has stopped; its agent is looking for another";

function pathsOf(
  { path, owner, isTunnelOnly }: ParticipantEntry,
  clocks: Clocks,
): Pick<Participant, "tunnel" | "direct"> {
  const closed = { kind: "closed" } as const;
  if (owner === null) return { tunnel: closed, direct: { kind: "failed", reason: ownerIsDead } };
  switch (path.kind) {
    case "none":
      return {
        tunnel: closed,
        direct: { kind: isTunnelOnly ? "refused" : "failed", reason: path.problem },
      };
    case "untried":
      return { tunnel: closed, direct: path };
    case "tunnel":
    case "direct": {
      const { readiness, problem, since, resuming } = path;
      const verdict = { readiness, problem, sinceMs: toMonotonic(since, clocks) };
      if (path.kind === "direct")
        return { tunnel: closed, direct: { kind: "answered", ...verdict } };
      return {
        tunnel:
          typeof resuming === "number"
            ? { kind: "resuming", streams: resuming, sinceMs: verdict.sinceMs, before: verdict }
            : { kind: "open", ...verdict },
        direct: { kind: "untried" },
      };
    }
  }
}

function toEpoch(ms: number, { nowMs, wallMs }: Clocks): number {
  return Math.round(wallMs() - nowMs() + ms);
}

function toMonotonic(epochMs: number, { nowMs, wallMs }: Clocks): number {
  return epochMs - wallMs() + nowMs();
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

function optionalBase64(bytes: Uint8Array | undefined): string | null {
  return bytes === undefined ? null : base64(bytes);
}

function optionalBytes(text: string | null): Uint8Array | undefined {
  return text === null ? undefined : Buffer.from(text, "base64");
}

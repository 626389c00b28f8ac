import {
  isSameModel,
  RARE_CAPABILITIES,
  type BatchConsent,
  type Budget,
  type Capabilities,
  type CapabilityValue,
  type Features,
  type JoinRequest,
  type JoinRun,
  type LimitSource,
  type Liveness,
  type MeasuredFeatures,
  type ModelContext,
  type ParticipantConfig,
  type ParticipantStatus,
  type Readiness,
  type Specs,
} from "@roomhub/protocol";
import { type Abilities, unknownAbilities } from "./needs/abilities.ts";
import { Pace } from "./placement/pace.ts";

/** Who registered a participant, and from where. Decides what the hub may dial for it, and who may change it. */
export interface Registrant {
  /** normalised peer address; undefined when an untrusted proxy hides it */
  readonly address: string | undefined;
  /** the request carried an `Origin` header: a web page made it */
  readonly hasOrigin: boolean;
  /** whose registrations count together */
  readonly throttleKey: string;
  /** the computer where it registered, when that is another one: loopback and private addresses mean that computer */
  readonly computer?: string | undefined;
}

/** As sent; further keys are kept. */
type DeclaredCapabilities = NonNullable<JoinRequest["capabilities"]>;

/** What a participant declares at join. */
export interface Registration {
  id: string;
  nickname: string;
  model: string;
  /** as sent */
  endpoint: string;
  /** where calls go, see `checkEndpoint` */
  baseUrl: string;
  endpointOrigin: string;
  specs: Specs;
  config: ParticipantConfig;
  /** declared, and never overruled by what is learned */
  declaredCapabilities: DeclaredCapabilities;
  /** It announced a tunnel: the hub never dials it. */
  isTunnelOnly: boolean;
  /** `probe`: the hub probes its endpoint for signs of life */
  liveness: Liveness | undefined;
  /** tokens that its model takes at most, whatever the model server reports; undefined when not declared */
  declaredContext: number | undefined;
  /** It leaves requests for any participant to other participants, see `isLeftToOthers`. */
  isStandIn: boolean;
  /** names of the keys whose requests it serves in a closed room, in lower case; undefined for all */
  only: readonly string[] | undefined;
  /** whether, and when, it serves requests of batches; undefined for always */
  batches: BatchConsent | undefined;
  registrant: Registrant;
  tokenDigest: Uint8Array;
  /** SHA-256 of the secret that it shares with other participants of the same model server; undefined for none */
  machineDigest: Uint8Array | undefined;
  /** the same for all participants of one agent process; undefined when it names none */
  agentId: string | undefined;
  /** which of its agent's joins this is; undefined when that does not count them */
  run: JoinRun | undefined;
  /** SHA-256 of the key that proves its owner's requests; undefined unless these go first */
  clientKeyDigest: Uint8Array | undefined;
  /** of the room's key that it joined with, and ends with; undefined without one */
  keyId: string | undefined;
}

/** What is known of the model server at the end of a path. */
export interface PathVerdict {
  readiness: Readiness;
  /** why it gets no request now, for people; may be empty */
  problem: string;
  /** ms on the hub's clock since when `readiness` is the same */
  sinceMs: number;
}

/** Whether the hub may and can call the endpoint itself. */
export type DirectPath =
  | { kind: "refused"; reason: string }
  | { kind: "untried" }
  | ({ kind: "answered" } & PathVerdict)
  | { kind: "failed"; reason: string };

/** The participant's tunnel, as far as routing needs it. */
type TunnelPath = { kind: "closed" } | ({ kind: "open" } & PathVerdict) | TunnelGap;

/** The connection of the tunnel is lost, and its streams wait for the agent to dial again. */
export interface TunnelGap {
  kind: "interrupted";
  /** streams that wait, counted when the connection was lost */
  streams: number;
  /** ms on the hub's clock when the connection was lost */
  sinceMs: number;
  /** the verdict when it resumes */
  before: PathVerdict;
}

/**
 * Whether a participant's credentials work. Replaced when the credentials or the endpoint change, so that a response to
 * the old ones says nothing about the new.
 */
export interface CredentialUse {
  /** A call with them had a 2xx response. */
  haveWorked: boolean;
  /** While its model server refuses them: when one request may try them again. */
  trial: { dueMs: number; nextDelayMs: number } | undefined;
}

/** What a participant's model server reports of its slots, to its agent or to the hub. */
export interface ReportedLoad {
  /** undefined where it reports none */
  limit: number | undefined;
  limitFrom: Extract<LimitSource, "engine" | "learned">;
  /** slots that are busy with other work than requests of this hub */
  elsewhere: number;
}

/**
 * What participants of the same model server share: its slots, whatever their models, rooms and tunnels. Contract §3,
 * "Machines".
 */
export interface Machine {
  /** 8 hex digits, as listings show it */
  readonly id: string;
  readonly members: ReadonlySet<Participant>;
  /** running requests of all members */
  active: number;
  /** of these, requests of batches */
  batch: number;
  /** when they began, in ms on the hub's clock, in any order */
  readonly startedMs: number[];
  /** requests that may run at once; infinite for a server without shared slots */
  limit: number;
}

/** The figures that the limit of a machine follows from. */
export interface MachineLimits {
  /** reported by the model server; 0 for none */
  readonly reported: number;
  /** declared by each agent once, added up; undefined when none declares one */
  readonly declared: number | undefined;
  /** the largest limit that is assumed for one participant; 1 when none is */
  readonly most: number;
}

/** Secrets of a participant that the hub it joined did not store: its next join has to send them. */
export interface Withheld {
  readonly authHeaders: boolean;
  readonly instructions: boolean;
  readonly machineSecret: boolean;
}

/** What has to come from a participant that was registered before its room was here. */
export interface Returning extends Withheld {
  /** It has sent a heartbeat and not dialled yet. */
  readonly isHeard?: true;
}

/** What is known of the model server: found out by the agent, or by the hub that calls the endpoint. */
export interface Learned {
  /** beside the declared capabilities */
  found: Record<string, CapabilityValue>;
  /** declared and found together, see {@link capabilitiesOf} */
  capabilities: Capabilities;
  /** The provider refuses a request for the usage of a stream, whatever was declared. */
  refusesStreamUsage: boolean;
  /** The provider has `timings` in a stream, which `stream_options` would move, whatever its agent knows of that. */
  reportsUsageItself: boolean;
  credentials: CredentialUse;
  /** how fast it is; begins anew when its endpoint or its model changes */
  pace: Pace;
  /** the same for each rare surface, by its capability: sound and pictures take their own time */
  rarePaces: Map<string, Pace>;
  /** what the model server reports of the requests that it runs */
  reported: ReportedLoad;
  /** models that the model server has loaded; undefined when it does not say */
  loadedModels: readonly string[] | undefined;
  facts: ModelFacts;
  /** what requests have shown of the model; undefined before any was measured */
  measured: MeasuredFeatures | undefined;
  /** the context that an error named, and until when that counts, in ms on the hub's clock */
  refused: { tokens: number; untilMs: number } | undefined;
  /** the index of its room, which goes by `usableTokens` and `abilities`; undefined before it is in one */
  index: { invalidate: () => void } | undefined;
  /** this and the next three follow from the above, see `updateFacts` */
  features: Features | undefined;
  context: ModelContext | undefined;
  /** the tokens of `context`; infinite when it is not known, or only what the model was trained for */
  usableTokens: number;
  abilities: Abilities;
  /** how long its model server was loading when it last became ready; undefined before it did */
  loadTookMs: number | undefined;
  /** how many bytes of text a token has in prompts like the last ones; undefined until one was counted */
  bytesPerToken: number | undefined;
}

/** What a model server, or what it sends, says of the model. */
export interface ModelFacts {
  context: ModelContext | undefined;
  features: Features | undefined;
  /** the model that responses name, when that is another one */
  answersAs: string | undefined;
}

/** How requests reach it. */
export interface Paths {
  tunnel: TunnelPath;
  /** why further tunnels are refused at the moment, for people */
  tunnelProblem: string | undefined;
  direct: DirectPath;
  /** epoch ms of the last frame, pong or answered direct call; stays when the path closes */
  lastContactAt: number | null;
  /** ms on the hub's clock of the same */
  lastContactMs: number;
  /** where its tunnel came from last, or its join; undefined unless that is near and without a proxy */
  ownerAddress: string | undefined;
}

/** The requests that run or wait, and how many it takes. */
export interface Load {
  /** whose slots it shares with other participants; undefined when it shares none */
  machine: Machine | undefined;
  /** requests running here */
  active: number;
  /** of these, requests of batches */
  batch: number;
  /** when they began, in ms on the hub's clock, in any order */
  startedMs: number[];
  /** for whom they run, in any order */
  runningFor: SlotHolder[];
  /** requests waiting that could be served here, without those of batches */
  queued: number;
  /** requests of batches that wait and could be served here */
  batchQueued: number;
  /** those of them that wait for this participant alone, since it holds their prompt warm */
  awaited: number;
  /** requests that may run at once, see `updateLimit` */
  limit: number;
  limitFrom: LimitSource;
  /** Its agent reads too slowly: its tunnel takes no further request. */
  isCongested: boolean;
  /** Its model server had too much to do: other requests wait until then, in ms on the hub's clock. */
  overloadedUntilMs: number | undefined;
  /** what its agent reports; undefined when it has none */
  budget: Budget | undefined;
  /** Its agent refuses requests for its budget until then, in ms on the hub's clock; undefined before it refused one. */
  restsUntilMs: number | undefined;
}

/** Whether and when the participant is there. */
export interface Presence {
  /** by its signs of life alone */
  status: Exclude<ParticipantStatus, "unavailable">;
  /** Registered before its room was here: it has not dialled or not sent its secrets since; undefined for all others. */
  returning: Returning | undefined;
  /** epoch ms */
  joinedAt: number;
  /** ms on the hub's clock of its last join */
  joinedMs: number;
  /** ms on the hub's clock */
  lastSeenMs: number;
  /** epoch ms */
  lastSeenAt: number;
  /** ms on the hub's clock of the last join, heartbeat or complete response */
  lastUsedMs: number;
}

/**
 * A participant as the hub knows it: what it declares, and what the hub finds out. One object per registration: an id that
 * is taken over gets a new object.
 */
export interface Participant extends Registration {
  readonly roomCode: string;
  /** unique, never shown: what the vault and the tunnel registry go by */
  readonly key: string;
  readonly learned: Learned;
  readonly paths: Paths;
  readonly load: Load;
  readonly presence: Presence;
}

export const nothingReported: ReportedLoad = Object.freeze({
  limit: undefined,
  limitFrom: "engine",
  elsewhere: 0,
});

export const noFacts: ModelFacts = Object.freeze({
  context: undefined,
  features: undefined,
  answersAs: undefined,
});

/** What is known of a model server before it was reached. */
export function nothingFound() {
  return {
    found: {},
    refusesStreamUsage: false,
    reportsUsageItself: false,
    reported: nothingReported,
    loadedModels: undefined,
    facts: noFacts,
    measured: undefined,
    refused: undefined,
    index: undefined,
    features: undefined,
    context: undefined,
    usableTokens: Number.POSITIVE_INFINITY,
    abilities: unknownAbilities,
    loadTookMs: undefined,
    bytesPerToken: undefined,
  };
}

/** The load of a participant before its first request. */
export function idleLoad(): Load {
  return {
    machine: undefined,
    active: 0,
    batch: 0,
    startedMs: [],
    runningFor: [],
    queued: 0,
    batchQueued: 0,
    awaited: 0,
    limit: 1,
    limitFrom: "default",
    isCongested: false,
    overloadedUntilMs: undefined,
    budget: undefined,
    restsUntilMs: undefined,
  };
}

/** The holder of a slot: a client, by its address and its name. */
export interface SlotHolder {
  readonly address: string;
  readonly person: string;
}

/** Whether its model server reports its loaded models, without this one. */
export function mustLoad({ learned, model }: Participant): boolean {
  const { loadedModels } = learned;
  return loadedModels !== undefined && !loadedModels.some((one) => isSameModel(one, model));
}

/**
 * Interface §2: live and ready. On a direct path, the last probe or call got an HTTP response; it is not used while an
 * interrupted tunnel may resume. Contract §1.
 */
export function isConnected({ paths }: Participant): boolean {
  const { tunnel, direct } = paths;
  return tunnel.kind === "open" || (tunnel.kind === "closed" && direct.kind === "answered");
}

/**
 * Merges declared and found capabilities. Declaring `unknown` leaves a capability to be found out. That a rare one is not
 * known is not worth a line in every listing.
 */
export function capabilitiesOf(
  declared: DeclaredCapabilities,
  found: Readonly<Record<string, CapabilityValue>>,
): Capabilities {
  const open = Object.entries(found).filter(([name]) => {
    if (RARE_CAPABILITIES.has(name) && found[name] === "unknown") return false;
    return !Object.hasOwn(declared, name) || declared[name] === "unknown";
  });
  const { openResponses, chatCompletions, ...others } = {
    ...declared,
    ...Object.fromEntries(open),
  };
  return {
    ...others,
    openResponses: openResponses ?? "unknown",
    chatCompletions: chatCompletions ?? "unknown",
  };
}

/** How fast it is at one surface. */
export function paceOf({ learned }: Participant, capability: string): Pace {
  if (!RARE_CAPABILITIES.has(capability)) return learned.pace;
  const known = learned.rarePaces.get(capability) ?? new Pace();
  learned.rarePaces.set(capability, known);
  return known;
}

/** Operations that only exist where the surface does. */
const partOf: Readonly<Record<string, string | undefined>> = {
  responsesCompact: "openResponses",
  responsesInputTokens: "openResponses",
};

/** `unknown` counts as possible. Keys beyond the two of the interface are judged the same way. */
export function capabilityOf({ learned }: Participant, name: string): CapabilityValue {
  const { capabilities } = learned;
  const whole = partOf[name];
  if (whole !== undefined && capabilities[whole] === "unsupported") return "unsupported";
  const value = capabilities[name];
  return value === "supported" || value === "unsupported" ? value : "unknown";
}

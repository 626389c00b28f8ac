import {
  isSameModel,
  type Budget,
  type Capabilities,
  type CapabilityValue,
  type JoinRequest,
  type LimitSource,
  type Liveness,
  type ParticipantConfig,
  type ParticipantStatus,
  type Readiness,
  type Specs,
} from "@roomhub/protocol";
import type { Pace } from "./placement/pace.ts";

/** Who registered a participant, and from where. Decides what the hub may dial for it, and who may change it. */
export interface Registrant {
  /** normalised peer address; undefined when a stranger's proxy hides it */
  readonly address: string | undefined;
  /** the request carried an `Origin` header: a web page made it */
  readonly hasOrigin: boolean;
  /** whose registrations count together */
  readonly throttleKey: string;
  /** where it registered, when that was at another computer: loopback and private addresses were that one's */
  readonly computer?: string | undefined;
}

/** As sent; further keys are kept. */
type DeclaredCapabilities = NonNullable<JoinRequest["capabilities"]>;

/** What a participant says of itself at join. */
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
  /** Its own word, which nothing that is learned overrules. */
  declaredCapabilities: DeclaredCapabilities;
  /** It announced a tunnel: never dialled directly. */
  isTunnelOnly: boolean;
  /** `probe`: the hub asks its endpoint for signs of life. */
  liveness: Liveness | undefined;
  /** It leaves requests for any participant to the others, see `isLeftToOthers`. */
  isStandIn: boolean;
  registrant: Registrant;
  tokenDigest: Uint8Array;
  /** SHA-256 of the secret that it has in common with others at the same model server; undefined for none */
  machineDigest: Uint8Array | undefined;
  /** the same for all participants of one agent process; undefined when it names none */
  agentId: string | undefined;
  /** SHA-256 of the key that shows its owner's requests; undefined unless these go first */
  clientKeyDigest: Uint8Array | undefined;
}

/** What is known of the model server at a path's end. */
export interface PathVerdict {
  readiness: Readiness;
  /** why no request goes there now, for people; may be empty */
  problem: string;
  /** ms on the hub's clock: `readiness` has been the same since then */
  sinceMs: number;
}

/** Whether the hub may and can call the endpoint itself. */
export type DirectPath =
  | { kind: "refused"; reason: string }
  | { kind: "untried" }
  | ({ kind: "answered" } & PathVerdict)
  | { kind: "failed"; reason: string };

/** The participant's own tunnel, as far as routing cares. */
type TunnelPath = { kind: "closed" } | ({ kind: "open" } & PathVerdict) | TunnelGap;

/** Its connection is lost, and its streams wait for the agent to dial again. */
export interface TunnelGap {
  kind: "interrupted";
  /** that wait, as of when the connection was lost */
  streams: number;
  /** ms on the hub's clock: the connection is lost since then */
  sinceMs: number;
  /** what it goes back to */
  before: PathVerdict;
}

/**
 * How a participant's credentials have done so far. Another object takes its place when the credentials or the endpoint
 * change, so that an answer to the old ones says nothing about the new.
 */
export interface CredentialUse {
  /** A call with them had a 2xx response. */
  haveWorked: boolean;
  /** While its model server refuses them: when one request may find out whether it still does. */
  trial: { dueMs: number; nextDelayMs: number } | undefined;
}

/** What a participant's model server reports of the requests that it runs at once, to its agent or to the hub. */
export interface ReportedLoad {
  /** undefined where it reports none */
  limit: number | undefined;
  limitFrom: Extract<LimitSource, "engine" | "learned">;
  /** slots busy with something else than requests of this hub */
  elsewhere: number;
}

/**
 * What participants in front of the same model server share: its slots, whatever the models, rooms and tunnels. Contract
 * §3, "Machines".
 */
export interface Machine {
  /** 8 hex digits, as listings show it */
  readonly id: string;
  readonly members: ReadonlySet<Participant>;
  /** requests that run there, of all members */
  active: number;
  /** when they began, in ms on the hub's clock, in any order */
  readonly startedMs: number[];
  /** requests that may run there at once; infinite for a server that has no slots to share */
  limit: number;
}

/** What the limit of a machine follows from, as far as some of its participants say. */
export interface MachineLimits {
  /** by the model server; 0 for none */
  readonly reported: number;
  /** by each of their agents once, added up; undefined when none declares one */
  readonly declared: number | undefined;
  /** the most that is assumed for one of them; 1 when nothing is */
  readonly most: number;
}

/** What was known of a participant where it had joined, and was given to no one: its next join has to bring it. */
export interface Withheld {
  readonly authHeaders: boolean;
  readonly instructions: boolean;
  readonly machineSecret: boolean;
}

/** What its next signs bring. */
interface Returning extends Withheld {
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
  /** what the model server reports of the requests that it runs */
  reported: ReportedLoad;
  /** models that the model server has loaded; undefined when it does not say */
  loadedModels: readonly string[] | undefined;
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
  /** when they began, in ms on the hub's clock, in any order */
  startedMs: number[];
  /** for whom they run, in any order */
  runningFor: SlotHolder[];
  /** requests waiting that could be served here */
  queued: number;
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

/** When it was there. */
export interface Presence {
  /** by its signs of life alone */
  status: Exclude<ParticipantStatus, "unavailable">;
  /** It joined elsewhere and was not heard of here yet, or has not brought this again; undefined for all others. */
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

/** What is known of a model server before it was reached. */
export function nothingFound() {
  return {
    found: {},
    refusesStreamUsage: false,
    reportsUsageItself: false,
    reported: nothingReported,
    loadedModels: undefined,
  };
}

/** The load of a participant before its first request. */
export function idleLoad(): Load {
  return {
    machine: undefined,
    active: 0,
    startedMs: [],
    runningFor: [],
    queued: 0,
    awaited: 0,
    limit: 1,
    limitFrom: "default",
    isCongested: false,
    overloadedUntilMs: undefined,
    budget: undefined,
    restsUntilMs: undefined,
  };
}

/** Who has a slot: a client, by its address and by what it reveals of itself. */
export interface SlotHolder {
  readonly address: string;
  readonly person: string;
}

/** Its model server reports which models it has loaded, and this one is not among them. */
export function mustLoad({ learned, model }: Participant): boolean {
  const { loadedModels } = learned;
  return loadedModels !== undefined && !loadedModels.some((one) => isSameModel(one, model));
}

/**
 * Interface §2: live and ready. For a direct path, the last probe or call got an HTTP answer; it is not used while a lost
 * tunnel may come back. Contract §1.
 */
export function isConnected({ paths }: Participant): boolean {
  const { tunnel, direct } = paths;
  return tunnel.kind === "open" || (tunnel.kind === "closed" && direct.kind === "answered");
}

/** Who declares `unknown` leaves it to be found out. */
export function capabilitiesOf(
  declared: DeclaredCapabilities,
  found: Readonly<Record<string, CapabilityValue>>,
): Capabilities {
  const open = Object.entries(found).filter(([name]) => {
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

/** Operations that only exist where the surface does. */
const partOf: Readonly<Record<string, string | undefined>> = {
  responsesCompact: "openResponses",
  responsesInputTokens: "openResponses",
};

/** `unknown` is tried; keys beyond the two of the interface are judged the same way. */
export function capabilityOf({ learned }: Participant, name: string): CapabilityValue {
  const { capabilities } = learned;
  const whole = partOf[name];
  if (whole !== undefined && capabilities[whole] === "unsupported") return "unsupported";
  const value = capabilities[name];
  return value === "supported" || value === "unsupported" ? value : "unknown";
}

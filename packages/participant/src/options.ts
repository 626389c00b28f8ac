import { pinIn } from "@roomhub/client";
import {
  REQUEST_SCHEMAS,
  checkEndpoint,
  type JoinRequest,
  LIMITS,
  normaliseRoomCode,
  type ParticipantConfig,
  type Specs,
  systemWorld,
  type World,
} from "@roomhub/protocol";
import { type BudgetOptions, type BudgetRules, readBudget } from "./budget/budget-options.ts";
import { EndpointSlots } from "./endpoint-slots.ts";
import { FUNCTION_ENDPOINT, type ServeFunction } from "./function-call.ts";
import { type ParticipantNotice, ParticipantError } from "./notice.ts";
import type { ProxyEnvironment } from "./connection/proxy.ts";
import type { TunnelMask } from "./connection/tunnel-mask.ts";
import { defaultTiming, type ParticipantTiming } from "./timing.ts";

export interface ParticipantOptions {
  /** Any form that `normaliseHubUrl` of `@roomhub/client` accepts. */
  hubUrl: string;
  /**
   * The key of the hub now, `sha256-…`, for one whose certificate is replaced while the agent runs: asked before each dial.
   * Left out: the pin in `hubUrl`.
   */
  pin?: (() => string | undefined) | undefined;
  room: string;
  id: string;
  /**
   * For an `id` that was not chosen: returns another one when the room has a participant of that id, which is then left
   * alone. Without it, an id that another agent at the same address has is taken over.
   */
  nextId?: ((takenId: string) => string) | undefined;
  nickname: string;
  model: string;
  /** The provider's endpoint; this participant calls no other. */
  endpoint: string;
  password?: string | undefined;
  /** The key of a closed room, with the right to share. Contract §9. */
  key?: string | undefined;
  specs?: Specs | undefined;
  config?: ParticipantConfig | undefined;
  capabilities?: JoinRequest["capabilities"] | undefined;
  /**
   * 32 random bytes in base64url that only the participants in front of one model server have in common: a hub then counts
   * their requests together.
   */
  machineSecret?: string | undefined;
  /**
   * A UUID that all participants of one process have in common: in front of one model server, their concurrency limits
   * count once, and those of other processes are added. Default: one of its own.
   */
  agentId?: string | undefined;
  /**
   * The same for all participants of one process: in front of one model server, they take no more of its slots together than it
   * has, also where their rooms are at different hubs of a cluster. Default: each counts alone.
   */
  endpointSlots?: EndpointSlots | undefined;
  /** Tokens of prompt and output together that the model takes, where it is less than its server reports. */
  context?: JoinRequest["context"];
  /** Requests of this participant's owner go before those of others that wait for it. Default false. */
  ownFirst?: boolean | undefined;
  /** Called with the key that shows the owner's requests, each time the hub issues one. For `ownFirst`. */
  onClientKey?: ((clientKey: string) => void) | undefined;
  /** It leaves requests for any participant to the others, as long as one of them can serve them. Default false. */
  standIn?: boolean | undefined;
  /** Names of keys: it serves their requests alone, and refuses those of others. In a closed room. Default: all. */
  only?: readonly string[] | undefined;
  /** Whether, and in which hours, it serves requests of batches. Default: always. */
  batches?: JoinRequest["batches"];
  /** Credentials that stay on this machine: added to provider calls, never sent to the hub; they override the hub's. */
  headers?: Record<string, string> | undefined;
  /** Sent to the hub, which adds them to each request. */
  authHeaders?: Record<string, string> | undefined;
  /**
   * If the server is restarted with another model in place of `model`, share that model under its name. Default false: the
   * participant gets no requests until the server has `model` again.
   */
  followModel?: boolean | undefined;
  /**
   * The server listed `model` when it was chosen: it serves another model as soon as it lists others. Default false: a list
   * that never had the model proves nothing.
   */
  isModelListed?: boolean | undefined;
  /** What hubs may spend at the provider; requests beyond it get a 429. Default: everything. */
  budget?: BudgetOptions | undefined;
  /** Folder of the budget's ledger; default `$XDG_STATE_HOME/roomhub/budgets`, or below `~/.local/state`. */
  budgetFolder?: string | undefined;
  onNotice?: ((notice: ParticipantNotice) => void) | undefined;
  /**
   * Whether `request-ended` has the response's speed and tokens, which requires scanning responses. A function is called
   * before each notice. Default: true with `onNotice`.
   */
  isMetered?: boolean | (() => boolean) | undefined;
  /** Whether `running()` has the tokens of streams so far, which requires scanning them. Default false. */
  countsTokens?: boolean | undefined;
  timing?: Partial<ParticipantTiming> | undefined;
  /** Time, timers and randomness; default: the system's. */
  world?: World | undefined;
  /**
   * `none`: what goes to the hub is not masked, which saves CPU; for a network without proxies that read it. Default `auto`:
   * it is masked except over TLS and on this machine.
   */
  tunnelMask?: TunnelMask | undefined;
  /** Source of proxy settings; default `process.env` */
  env?: ProxyEnvironment | undefined;
}

/** A participant that is a function of this program. Listed with the endpoint `http://function.invalid/v1`. */
export interface FunctionParticipantOptions extends Omit<
  ParticipantOptions,
  "endpoint" | "headers" | "authHeaders" | "followModel" | "isModelListed"
> {
  serve: ServeFunction;
}

/** The validated options with all defaults. */
export interface Settings extends Pick<
  ParticipantOptions,
  "hubUrl" | "room" | "nextId" | "key" | "budgetFolder" | "onNotice"
> {
  pin: () => string | undefined;
  /** its id changes at the first join, see `nextId` */
  joinRequest: JoinRequest;
  baseUrl: string;
  /** undefined when the endpoint is called */
  serve: ServeFunction | undefined;
  endpointSlots: EndpointSlots;
  mayFollowModel: boolean;
  isModelListed: boolean;
  localHeaders: Record<string, string>;
  authHeaders: Record<string, string>;
  /** Declared by the user; sent in HELLO together with detected ones */
  capabilities: Record<string, string>;
  maxStreams: number;
  /** undefined when nothing is limited */
  budget: BudgetRules | undefined;
  timing: ParticipantTiming;
  world: World;
  mask: TunnelMask;
  env: ProxyEnvironment;
  onClientKey: (clientKey: string) => void;
  isMetered: boolean | (() => boolean);
  countsTokens: boolean;
}

/** @throws ParticipantError when the endpoint, a header or the budget is invalid */
export function readOptions(options: ParticipantOptions | FunctionParticipantOptions): Settings {
  if (!("serve" in options)) return readEndpointOptions(options, undefined);
  return readEndpointOptions({ ...options, endpoint: FUNCTION_ENDPOINT }, options.serve);
}

function readEndpointOptions(
  options: ParticipantOptions,
  serve: ServeFunction | undefined,
): Settings {
  const { id, nickname, model, endpoint, password, specs, config, capabilities } = options;
  const { machineSecret, context, batches, world = systemWorld } = options;
  const { hubUrl, nextId, key, budgetFolder, onNotice } = options;
  const checked = checkEndpoint(endpoint);
  if (!checked.ok)
    throw new ParticipantError("invalid_endpoint", `The endpoint ${checked.reason}.`);
  const authHeaders = readHeaders(options.authHeaders);
  return {
    ...{ hubUrl, nextId, key, budgetFolder, onNotice, world, serve, authHeaders },
    pin: options.pin ?? (() => pinIn(hubUrl)),
    room: normaliseRoomCode(options.room),
    joinRequest: {
      ...{ id, nickname, model, endpoint, password, specs, config, capabilities, machineSecret },
      agentId: options.agentId ?? world.randomUUID(),
      context,
      ownFirst: options.ownFirst || undefined,
      standIn: options.standIn || undefined,
      only: options.only && [...options.only],
      batches,
      authHeaders: options.authHeaders && authHeaders,
      transport: "tunnel",
    },
    baseUrl: checked.baseUrl,
    // Functions share no slots, though they share an endpoint's name.
    endpointSlots: (serve === undefined ? options.endpointSlots : undefined) ?? new EndpointSlots(),
    mayFollowModel: options.followModel ?? false,
    isModelListed: options.isModelListed ?? false,
    localHeaders: readHeaders(options.headers),
    capabilities: textsOf(capabilities ?? {}),
    maxStreams: streamsFor(config?.maxConcurrency),
    budget: readBudget(options.budget),
    timing: { ...defaultTiming, ...options.timing },
    mask: options.tunnelMask ?? "auto",
    env: options.env ?? process.env,
    onClientKey(clientKey) {
      try {
        options.onClientKey?.(clientKey);
      } catch {
        // A callback may throw; the participant continues.
      }
    },
    isMetered: options.isMetered ?? options.onNotice !== undefined,
    countsTokens: options.countsTokens ?? false,
  };
}

/** The hub's rules for `authHeaders` apply to local headers too, since both end up in the same request. */
function readHeaders(headers: Record<string, string> | undefined): Record<string, string> {
  const parsed = REQUEST_SCHEMAS.join.shape.authHeaders.safeParse(headers ?? {});
  if (parsed.success) return parsed.data ?? {};
  const message = parsed.error.issues[0]?.message ?? "a header is invalid";
  throw new ParticipantError("invalid_auth_header", `${message}.`);
}

/** Twice the concurrency: a cancelled request keeps its stream until the provider's socket is closed. */
function streamsFor(maxConcurrency: number | undefined): number {
  const running = maxConcurrency ?? LIMITS.inFlightPerParticipant.default;
  return Math.min(2 * running, LIMITS.tunnelMaxStreams.default);
}

function textsOf(record: Record<string, unknown>): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [key, value] of Object.entries(record)) {
    if (typeof value === "string") texts[key] = value;
  }
  return texts;
}

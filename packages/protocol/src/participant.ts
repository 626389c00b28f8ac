import { z } from "zod";
import { BatchConsent } from "./batch-consent.ts";
import { Capabilities } from "./capability.ts";
import { HomeEpoch, TunnelAddress } from "./cluster.ts";
import { Features, ModelContext } from "./model-facts.ts";
import { Readiness } from "./readiness.ts";
import { printable } from "./text.ts";

/** Interval between heartbeats; a participant that misses three is offline. Interface §8. */
export const HEARTBEAT_INTERVAL_MS = 10_000;

const idGrammar = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,99}$/;

/** Why an id is invalid, or undefined when it is valid. Contract §3: `*`, `any` and `model:…` are reserved. */
export function participantIdProblem(id: string): string | undefined {
  if (id === "*" || id.toLowerCase() === "any" || id.toLowerCase().startsWith("model:")) {
    return `"${printable(id.slice(0, 40))}" is reserved for the model field; choose a name such as ana-llama3`;
  }
  if (!idGrammar.test(id)) {
    return "must be 1 to 100 letters, digits or . _ : @ -, beginning with a letter or digit";
  }
  return undefined;
}

export const ParticipantId = z
  .string()
  .superRefine((id, context) => {
    const problem = participantIdProblem(id);
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
  })
  .meta({ pattern: idGrammar.source });

/** Contract §1; `vram` and `ram` in GB; further keys are kept. */
export const Specs = z.looseObject({
  gpu: z.string().optional(),
  vram: z.number().optional(),
  ram: z.number().optional(),
  cpu: z.string().optional(),
});
export type Specs = z.infer<typeof Specs>;

/** How a surface is served: by the model server, or translated to its chat completions. */
export const SurfaceMode = z.enum(["native", "translated"]);
export type SurfaceMode = z.infer<typeof SurfaceMode>;

/** A participant's defaults; values in the request take precedence. Contract §1. `instructions` is never listed. */
export const ParticipantConfig = z.looseObject({
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  max_tokens: z.int().min(1).optional(),
  stop: z.union([z.string(), z.array(z.string())]).optional(),
  frequency_penalty: z.number().optional(),
  presence_penalty: z.number().optional(),
  seed: z.int().optional(),
  instructions: z.string().optional(),
  maxConcurrency: z.int().min(1).optional(),
  /** this and the next: when absent, the model server's capabilities decide */
  responses: SurfaceMode.optional(),
  messages: SurfaceMode.optional(),
});
export type ParticipantConfig = z.infer<typeof ParticipantConfig>;

/** Interface §2; the fields after `lastTunnelSeenAt` are additions of contract §1. */
export const Connection = z.object({
  kind: z.literal("tunnel"),
  connected: z.boolean(),
  lastTunnelSeenAt: z.string().nullable(),
  path: z.enum(["tunnel", "direct", "none"]),
  readiness: Readiness,
  /** Present while its tunnel is interrupted: how many streams wait for it to resume, and for how long so far. */
  resuming: z.object({ streams: z.int(), sinceMs: z.int() }).optional(),
  /** Present while its model server loads the model: for how long so far, and how long loading took before, if known. */
  loading: z.object({ sinceMs: z.int(), expectedMs: z.int().optional() }).optional(),
  /** why no request is sent there now, or why its tunnel is refused; absent otherwise */
  problem: z.string().optional(),
});
export type Connection = z.infer<typeof Connection>;

/** `unavailable`: alive and connected, but not able to serve requests. Contract §1. */
export const ParticipantStatus = z.enum(["online", "unavailable", "offline"]);
export type ParticipantStatus = z.infer<typeof ParticipantStatus>;

/** How a participant stays online: `probe` means the hub probes its endpoint. When absent, by heartbeats. Contract §2. */
export const Liveness = z.literal("probe");
export type Liveness = z.infer<typeof Liveness>;
/**
 * Where a participant's limit comes from: its `maxConcurrency`, its model server, what its agent learned, or the hub's
 * default.
 */
export const LimitSource = z.enum(["declared", "engine", "learned", "default"]);
export type LimitSource = z.infer<typeof LimitSource>;

/** Requests running and queued at a participant, and how many may run at once. */
export const Load = z.object({
  active: z.int(),
  queued: z.int(),
  limit: z.int(),
  limitFrom: LimitSource,
  /** slots of its model server busy with other work; absent for none */
  elsewhere: z.int().optional(),
  /** requests of batches: running ones are part of `active`, waiting ones are not part of `queued`; absent for none */
  batch: z.object({ active: z.int(), queued: z.int() }).optional(),
  /** the machine whose slots it shares with other participants; absent when it shares none */
  machine: z
    .object({
      id: z.string(),
      active: z.int(),
      limit: z.int(),
      /** how many share it; absent where another hub counts them */
      participants: z.int().optional(),
    })
    .optional(),
});
export type Load = z.infer<typeof Load>;

/** What a participant lets all hubs together spend, as its agent reports it. Absent fields are not limited. */
export const Budget = z.object({
  tokensPerDay: z.int().optional(),
  /** of `tokensPerDay`, left today */
  remainingTokens: z.int().optional(),
  /** tokens that requests of batches may use per day */
  batchTokensPerDay: z.int().optional(),
  /** of `batchTokensPerDay`, left today */
  remainingBatchTokens: z.int().optional(),
  requestsPerMinute: z.int().optional(),
  /** epoch ms at which the day's tokens are renewed */
  resetAt: z.number().optional(),
});
export type Budget = z.infer<typeof Budget>;

/** A participant in listings and events. Never contains authHeaders, password or instructions. Contract §1. */
export const ParticipantSummary = z.object({
  id: z.string(),
  nickname: z.string(),
  model: z.string(),
  endpoint: z.string(),
  status: ParticipantStatus,
  connection: Connection,
  specs: z.record(z.string(), z.unknown()),
  config: z.record(z.string(), z.unknown()),
  capabilities: Capabilities,
  /** epoch ms */
  joinedAt: z.number(),
  /** epoch ms of the last heartbeat, probe or tunnel activity */
  lastSeen: z.number(),
  load: Load,
  /** the same for all participants of one agent process; absent when it names none */
  agentId: z.string().optional(),
  /** absent when it sends heartbeats */
  liveness: Liveness.optional(),
  /** true: requests for any participant go to the others while one of them can serve; absent otherwise */
  standIn: z.boolean().optional(),
  /** names of the keys whose requests it serves in a closed room; absent for all */
  only: z.array(z.string()).optional(),
  /** false, or the hours, when it does not serve requests of batches at any time; absent for one that does */
  batches: BatchConsent.optional(),
  /** models that its server has loaded now, at most 64; absent when the server does not report them */
  loadedModels: z.array(z.string()).optional(),
  /** absent while nothing is known; one that is `trained` says only what the model could have */
  context: ModelContext.optional(),
  /** absent while nothing is known of any */
  features: Features.optional(),
  /** the model that its responses name, when that is another one than `model` */
  answersAs: z.string().optional(),
  /** absent when its agent reports none */
  budget: Budget.optional(),
});
export type ParticipantSummary = z.infer<typeof ParticipantSummary>;

export const Warning = z.object({ code: z.string(), message: z.string() });
export type Warning = z.infer<typeof Warning>;

/** `participantToken` is present only when a new one was issued. Contract §1. */
export const JoinResponse = z.object({
  participant: ParticipantSummary,
  roomId: z.uuid(),
  heartbeatWithinMs: z.number(),
  tunnel: TunnelAddress,
  /** In a cluster: where its hubs take participants, the one that took the join first; at most 16. */
  hubs: z.array(z.string()).optional(),
  /** In a cluster: of the home that took the join. */
  homeEpoch: HomeEpoch.optional(),
  warnings: z.array(Warning).optional(),
  participantToken: z.string().optional(),
  /** only with `ownFirst`, and when a new one was issued */
  clientKey: z.string().optional(),
});
export type JoinResponse = z.infer<typeof JoinResponse>;

export const ParticipantResponse = z.object({ participant: ParticipantSummary });
export const ParticipantListResponse = z.object({ participants: z.array(ParticipantSummary) });
export const SuccessResponse = z.object({ success: z.literal(true) });

export const HeartbeatResponse = z.object({
  success: z.literal(true),
  status: ParticipantStatus,
  /** epoch ms */
  lastSeen: z.number(),
});
export type HeartbeatResponse = z.infer<typeof HeartbeatResponse>;

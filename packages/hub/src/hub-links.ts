import type { RequestSummary } from "@roomhub/protocol";
import { randomBytes } from "node:crypto";
import type { OwnerSecrets } from "./cluster/membership.ts";
import type { HubPresence } from "./cluster/hubs/hub-presence.ts";
import { OwnWatches } from "./cluster/bus/own-watches.ts";
import { WatchedElsewhere } from "./cluster/bus/watched-elsewhere.ts";
import type { HubIdentity, Participant } from "./domain/participant.ts";
import { Exchange, type ExchangeDeps } from "./inference/forwarding/exchange.ts";
import type { ForwardTarget } from "./inference/forwarding/forwarded-request.ts";
import { type ForwardingDeps, serveForwarded } from "./inference/forwarding/serve-forwarded.ts";
import type { ForwardRefusal, Upstream } from "./inference/upstream.ts";
import { participantRests } from "./operations/budgets/budgets.ts";
import { secretsFor } from "./operations/cluster/cluster-changes.ts";
import type { OperationContext } from "./operations/context.ts";
import { underWay } from "./operations/cluster/moves.ts";
import type { LinkResponse } from "./upstreams/node/ask.ts";
import { dialHub } from "./upstreams/node/dial.ts";
import type { LinkedHub } from "./upstreams/node/handshake.ts";
import type { LinkTarget } from "./upstreams/node/link-settings.ts";
import { Links } from "./upstreams/node/links.ts";

/** A question to the hub that owns a participant is given up after this long. */
const secretsWithinMs = 1_000;

/** A join waits for the first probe of an endpoint, which takes a second at most. */
const manageWithinMs = 5_000;

/** A list that is not whole is better than one that comes late. */
const listWithinMs = 300;

export interface HubLinksOptions {
  own: LinkedHub;
  secret: Uint8Array;
  random: () => number;
  operations: () => OperationContext;
  /** Serves a management request that another hub relays. */
  manage: (question: unknown) => Promise<LinkResponse>;
  /** The requests of a room that have their clients here. */
  requestsHere: (roomCode: string) => readonly RequestSummary[];
  /** What serving the requests of other hubs needs, except what is known here. */
  forwarding: () => Omit<ForwardingDeps, "findOwn" | "slots" | "resumed">;
  makers: () => ExchangeDeps["makers"];
  nowMs: () => number;
  reportBug: (error: unknown) => void;
}

/** This hub's links, and what is said over them. */
export class HubLinks extends Links {
  /** What the hubs tell one another of their participants. */
  readonly exchange: Exchange;
  /** Of the rooms, those that are watched here, and those elsewhere. */
  readonly ownWatches = new OwnWatches(this);
  readonly watchedElsewhere = new WatchedElsewhere();
  readonly #operations: () => OperationContext;
  #forwarding: ForwardingDeps | undefined;

  constructor(options: HubLinksOptions) {
    const { own, secret, random, operations, forwarding, nowMs, reportBug } = options;
    super({ own, secret, random, randomBytes: (count) => randomBytes(count) }, dialHub, {
      linkOpened: (hub) => {
        this.exchange.linkOpened(hub);
        this.ownWatches.linkOpened(hub.hubId);
      },
      linkClosed: (hub) => this.exchange.linkClosed(hub),
      acceptedClosed: (hub) => this.watchedElsewhere.linkClosed(hub),
      forwarded: (request, reply) => {
        this.#forwarding ??= {
          ...forwarding(),
          findOwn: (target) => this.#findOwn(target),
          slots: this.exchange.slots,
          resumed: (participant, hubId, requestId) =>
            this.exchange.resumed(participant, hubId, requestId),
        };
        return serveForwarded(this.#forwarding, request, reply);
      },
      refused: (target, refusal) => noteRefusal(operations(), this.exchange, target, refusal),
      asked: async (_hub, path, body) =>
        this.exchange.respond(path, body) ?? respond(options, path, body),
      noticed: (hub, notice) => {
        if (!this.watchedElsewhere.noticed(hub, notice)) this.exchange.noticed(hub, notice);
      },
      bug: reportBug,
    });
    this.#operations = operations;
    this.exchange = new Exchange({
      links: this,
      queues: () => forwarding().queues,
      findRoom: (code) => operations().registry.findRoom(code),
      machines: () => operations().machines,
      own: () => ownOf(operations()),
      makers: {
        remember: (room, id, maker) => options.makers().remember(room, id, maker),
        ownerOf: (room, id) => options.makers().ownerOf(room, id),
      },
      participantRests: (participant, untilMs) =>
        participantRests(operations(), participant, untilMs),
      requestResumed: (participant, requestId) =>
        forwarding().inFlight.noteResumed(participant, requestId),
      nowMs,
      later: (ms, callback) => void setTimeout(callback, ms).unref(),
    });
  }

  override hubPresent(hub: LinkTarget & Pick<HubPresence, "watchRevision">): void {
    super.hubPresent(hub);
    this.watchedElsewhere.seen(hub, hub.watchRevision);
  }

  override hubLeft(hubId: string): void {
    super.hubLeft(hubId);
    this.watchedElsewhere.gone(hubId);
  }

  override hubGone(hubId: string): void {
    super.hubGone(hubId);
    this.watchedElsewhere.gone(hubId);
  }

  /** The way to a participant of another hub; undefined while no hub owns it. */
  pathTo({ key, roomCode, id, remote }: Participant): Upstream | undefined {
    if (remote?.owner === undefined) return undefined;
    const { owner, revision } = remote;
    return this.upstreamTo({
      ...owner,
      ...{ roomCode, participantId: id, participantKey: key, revision },
    });
  }

  /** The participant of this hub that another one means. */
  #findOwn(target: ForwardTarget): Participant | undefined {
    const found = find(this.#operations(), target);
    return found?.remote === undefined ? found : undefined;
  }

  /** Takes a management request to the hub that owns its participant. @throws HubError `peer_unavailable` */
  askOwner(hubId: string, question: unknown): Promise<LinkResponse> {
    return this.ask(hubId, "/manage", question, manageWithinMs);
  }

  /** The requests of a room that have their clients at other hubs, as far as these respond at once. */
  async requestsElsewhere(roomCode: string): Promise<RequestSummary[]> {
    const asked = this.openHubIds().map(async (hubId) => {
      const { body } = await this.ask(hubId, "/requests", { roomCode }, listWithinMs);
      return (body as { requests?: RequestSummary[] } | null)?.requests ?? [];
    });
    const responses = await Promise.allSettled(asked);
    return responses.flatMap((response) => (response.status === "fulfilled" ? response.value : []));
  }

  /** Resolves when the other hubs have read what they were told before, or do not respond. Never rejects. */
  async heard(): Promise<void> {
    const asked = this.openHubIds().map((hubId) => this.ask(hubId, "/heard", {}, listWithinMs));
    await Promise.allSettled(asked);
  }

  /** What only its owner knows of a participant; undefined when the owner does not say. */
  async askSecrets(
    { hubId }: HubIdentity,
    { roomCode, id, key }: Participant,
  ): Promise<OwnerSecrets | undefined> {
    try {
      const question = { roomCode, id, key };
      const { status, body } = await this.ask(hubId, "/secrets", question, secretsWithinMs);
      return status === 200 ? (body as OwnerSecrets) : undefined;
    } catch {
      return undefined; // the owner cannot be reached, which the caller handles
    }
  }
}

async function respond(
  { operations, manage, requestsHere }: HubLinksOptions,
  path: string,
  body: unknown,
): Promise<LinkResponse> {
  switch (path) {
    case "/requests": {
      const { roomCode } = (body ?? {}) as { roomCode?: unknown };
      return { status: 200, body: { requests: requestsHere(String(roomCode)) } };
    }
    case "/heard":
      return { status: 200, body: {} };
    case "/manage":
      return manage(body);
    case "/secrets": {
      const secrets = secretsFor(operations(), body);
      return secrets === undefined ? { status: 404, body: null } : { status: 200, body: secrets };
    }
    default:
      return { status: 404, body: null };
  }
}

/** Its owner did not serve a request: what it says of the participant is newer than what is known here. */
function noteRefusal(
  operations: OperationContext,
  exchange: Exchange,
  target: ForwardTarget,
  refusal: ForwardRefusal,
): void {
  const { roomCode, participantId: id, participantKey: key } = target;
  exchange.refused({ roomCode, id, key }, refusal);
  if (refusal.reason === "loading") noteLoading(operations, target);
  if (refusal.reason !== "unknown") return;
  // When that fails, the entry comes by the watch.
  operations.cluster?.catchUp(target.roomCode, target.participantId).catch(() => undefined);
}

/** Newer than its entry here: requests wait for it until the next one comes. */
function noteLoading(operations: OperationContext, target: ForwardTarget): void {
  const participant = find(operations, target);
  if (participant?.remote === undefined || participant.remote.revision > target.revision) return;
  participant.tunnel = underWay(operations.nowMs());
}

function* ownOf({ registry }: OperationContext): Iterable<Participant> {
  for (const participant of registry.participants()) {
    if (participant.remote === undefined) yield participant;
  }
}

function find(
  { registry }: OperationContext,
  { roomCode, participantId, participantKey }: ForwardTarget,
): Participant | undefined {
  const found = registry.findRoom(roomCode)?.participants.get(participantId);
  return found?.key === participantKey ? found : undefined;
}

import { randomBytes } from "node:crypto";
import type { OwnerSecrets } from "./cluster/membership.ts";
import type { HubIdentity, Participant } from "./domain/participant.ts";
import type { ForwardTarget } from "./inference/forwarding/forwarded-request.ts";
import type { ForwardRefusal, Upstream } from "./inference/upstream.ts";
import { secretsFor } from "./operations/cluster-changes.ts";
import type { OperationContext } from "./operations/context.ts";
import type { LinkResponse } from "./upstreams/node/ask.ts";
import { dialHub } from "./upstreams/node/dial.ts";
import type { LinkedHub } from "./upstreams/node/handshake.ts";
import { type LinkHandlers, Links } from "./upstreams/node/links.ts";

/** A question to the hub that owns a participant is given up after this long. */
const secretsWithinMs = 1_000;

/** A join waits for the first probe of an endpoint, which takes a second at most. */
const manageWithinMs = 5_000;

export interface HubLinksOptions {
  own: LinkedHub;
  secret: Uint8Array;
  random: () => number;
  operations: () => OperationContext;
  /** Serves a management request that another hub relays. */
  manage: (question: unknown) => Promise<LinkResponse>;
  /** Serves a request that another hub forwards. */
  forwarded: LinkHandlers["forwarded"];
  reportBug: (error: unknown) => void;
}

/** This hub's links, and what is said over them. */
export class HubLinks extends Links {
  readonly #operations: () => OperationContext;

  constructor(options: HubLinksOptions) {
    const { own, secret, random, operations, manage, forwarded, reportBug } = options;
    super({ own, secret, random, randomBytes: (count) => randomBytes(count) }, dialHub, {
      linkOpened: () => undefined,
      linkClosed: () => undefined,
      forwarded,
      refused: (target, refusal) => noteRefusal(operations(), target, refusal),
      asked: (_hub, path, body) => respond(operations(), manage, path, body),
      noticed: () => undefined,
      bug: reportBug,
    });
    this.#operations = operations;
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
  findOwn(target: ForwardTarget): Participant | undefined {
    const found = find(this.#operations(), target);
    return found?.remote === undefined ? found : undefined;
  }

  /** Takes a management request to the hub that owns its participant. @throws HubError `peer_unavailable` */
  askOwner(hubId: string, question: unknown): Promise<LinkResponse> {
    return this.ask(hubId, "/manage", question, manageWithinMs);
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
  operations: OperationContext,
  manage: HubLinksOptions["manage"],
  path: string,
  body: unknown,
): Promise<LinkResponse> {
  switch (path) {
    case "/manage":
      return manage(body);
    case "/secrets": {
      const secrets = secretsFor(operations, body);
      return secrets === undefined ? { status: 404, body: null } : { status: 200, body: secrets };
    }
    default:
      return { status: 404, body: null };
  }
}

/** Its owner did not serve a request: what it says of the participant is newer than what is known here. */
function noteRefusal(
  operations: OperationContext,
  target: ForwardTarget,
  { reason, elsewhere, limit }: ForwardRefusal,
): void {
  const participant = find(operations, target);
  if (participant?.remote === undefined) return;
  if (elsewhere !== undefined) participant.remote.elsewhere = elsewhere;
  if (limit !== undefined) participant.limit = limit;
  if (reason !== "unknown") return;
  // When that fails, the entry comes by the watch.
  operations.cluster?.catchUp(target.roomCode, target.participantId).catch(() => undefined);
}

function find(
  { registry }: OperationContext,
  { roomCode, participantId, participantKey }: ForwardTarget,
): Participant | undefined {
  const found = registry.findRoom(roomCode)?.participants.get(participantId);
  return found?.key === participantKey ? found : undefined;
}

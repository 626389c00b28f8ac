import type { InferenceProtocol } from "@roomhub/protocol";
import type { HubIdentity } from "../../domain/hub-identity.ts";
import { HubError } from "../../errors.ts";
import type { Served } from "../../events/away-events.ts";
import type { OperationContext } from "../context.ts";

/** What the hub of a client knows of its request, whose home ended while it served it. */
export interface LostRequest {
  requestId: string;
  protocol: InferenceProtocol;
  /** undefined where no response had begun */
  participantId: string | undefined;
  model: string | undefined;
  attempts: number;
  queueMs: number;
}

/** At the next home of the room: those who watch it learn that the request has ended. */
export function announceLost(
  { registry, emit }: OperationContext,
  code: string,
  { requestId, protocol, participantId, model, attempts, queueMs }: LostRequest,
): void {
  const room = registry.findRoom(code);
  if (room === undefined) return;
  const participant = room.participants.get(participantId ?? "");
  const error = new HubError("peer_unavailable", "The hub that served the request ended.");
  emit.llmError(
    room.code,
    {
      ...{ requestId, protocol, participantId: participantId ?? null },
      nickname: participant?.nickname ?? null,
      endpoint: participant?.endpoint ?? null,
      ...{ model: model ?? null, selector: null, alias: undefined },
      ...{ stage: "hub", error: error.message, code: error.code },
      ...{ client: { kind: "none", id: "" }, attempts, queueMs },
    },
    error.status,
  );
}

export interface LostRequestsOptions {
  /** undefined while the room has no home that is known */
  homeOf: (code: string) => Served | undefined;
  /** @returns whether nobody has told the end of the request yet */
  endsOnce: (requestId: string) => boolean;
  announce: (code: string, lost: LostRequest) => void;
  /** Says it to the home, which announces it. */
  tell: (hubId: string, code: string, lost: LostRequest) => void;
  nowMs: () => number;
}

interface Untold {
  code: string;
  lost: LostRequest;
  /** the home that ended, which the room may seem to have for a while; undefined where another hub tells it */
  from: HubIdentity | undefined;
  sinceMs: number;
  /** ms: since when this hub has been the home */
  hereMs: number | undefined;
}

/** Whoever watches a room opens its stream again after 2 s (contract §5), and waits for its home. */
const watchAgainMs = 2_000;
/** Its stream is open a moment after the room is served. */
const openedMs = 1_000;
const keptMs = 60_000;

/**
 * Requests whose home ended: on their way to the next home at once, so that a home that was only silent cannot tell their
 * end a second time; announced there when those who watch the room can hear of it. There is no replay.
 */
export class LostRequests {
  readonly #options: LostRequestsOptions;
  #untold: Untold[] = [];

  constructor(options: LostRequestsOptions) {
    this.#options = options;
  }

  /** Of a client of this hub, or of another one that takes this hub for the next home. */
  add(code: string, lost: LostRequest, from?: HubIdentity): void {
    const one = { code, lost, from, sinceMs: this.#options.nowMs(), hereMs: undefined };
    if (this.#isPending(one)) this.#untold.push(one);
  }

  /** Four times a second. */
  tick(): void {
    this.#untold = this.#untold.filter((one) => this.#isPending(one));
  }

  /** This hub ends: what can be said is said now. */
  close(): void {
    for (const { code, lost, hereMs } of this.#untold.splice(0))
      if (hereMs !== undefined) this.#options.announce(code, lost);
  }

  #isPending(one: Untold): boolean {
    const { homeOf, endsOnce, announce, tell, nowMs } = this.#options;
    const { code, lost, from, sinceMs } = one;
    const home = homeOf(code);
    const isNext =
      home?.kind === "here" || (home !== undefined && home.hub.bootId !== from?.bootId);
    if (!isNext) return nowMs() - sinceMs < keptMs;
    if (home.kind === "there") {
      tell(home.hub.hubId, code, lost);
      return false;
    }
    if (one.hereMs === undefined && !endsOnce(lost.requestId)) return false;
    one.hereMs ??= nowMs();
    if (nowMs() < Math.max(sinceMs + watchAgainMs, one.hereMs) + openedMs) return true;
    announce(code, lost);
    return false;
  }
}

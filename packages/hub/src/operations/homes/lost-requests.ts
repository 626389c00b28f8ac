import type { InferenceProtocol } from "@roomhub/protocol";
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
  announce: (code: string, lost: LostRequest) => void;
  /** Says it to that hub, which announces it. */
  tell: (hubId: string, code: string, lost: LostRequest) => void;
  nowMs: () => number;
}

interface Untold {
  code: string;
  lost: LostRequest;
  sinceMs: number;
  /** ms: since when the room has been served again */
  servedMs: number | undefined;
}

/** Whoever watches a room opens its stream again after 2 s (contract §5), and waits for its home. */
const watchAgainMs = 2_000;
/** Its stream is open a moment after the room is served. */
const openedMs = 1_000;
const keptMs = 60_000;

/** Requests of this hub's clients whose home ended, until those who watch the room can hear of it. There is no replay. */
export class LostRequests {
  readonly #options: LostRequestsOptions;
  #untold: Untold[] = [];

  constructor(options: LostRequestsOptions) {
    this.#options = options;
  }

  add(code: string, lost: LostRequest): void {
    this.#untold.push({ code, lost, sinceMs: this.#options.nowMs(), servedMs: undefined });
  }

  /** Four times a second. */
  tick(): void {
    const nowMs = this.#options.nowMs();
    this.#untold = this.#untold.filter((one) => {
      const home = this.#options.homeOf(one.code);
      one.servedMs = home && (one.servedMs ?? nowMs);
      if (one.servedMs === undefined) return nowMs - one.sinceMs < keptMs;
      const dueMs = Math.max(one.sinceMs + watchAgainMs, one.servedMs) + openedMs;
      return nowMs < dueMs || !this.#say(one);
    });
  }

  /** This hub ends: what can be said is said now. */
  close(): void {
    for (const one of this.#untold.splice(0)) this.#say(one);
  }

  /** @returns false while the room has no home */
  #say({ code, lost }: Untold): boolean {
    const { homeOf, announce, tell } = this.#options;
    const home = homeOf(code);
    if (home?.kind === "here") announce(code, lost);
    if (home?.kind === "there") tell(home.hubId, code, lost);
    return home !== undefined;
  }
}

import { HEARTBEAT_INTERVAL_MS } from "@roomhub/protocol";
import type { ModelServer, ProbeResult } from "@roomhub/provider";
import type { CredentialUse, DirectPath, Participant } from "../../domain/participant.ts";

type Server = Pick<ModelServer, "probe" | "probed" | "lookInMs">;

interface EndpointWatchOptions {
  nowMs: () => number;
  /** Whether this very registration is still the one under its id. */
  isPresent: (participant: Participant) => boolean;
  serverOf: (participant: Participant) => Server;
  /** Equal for participants that share a probe: the same model list, requested with the same credentials. */
  placeOf: (participant: Participant) => string;
  /** @param isLife - the response counts as a heartbeat */
  onProbed: (participant: Participant, found: ProbeResult, isLife: boolean) => void;
}

interface Watched {
  readonly participant: Participant;
  /** what `place` was found for */
  credentials: CredentialUse | undefined;
  place: string;
  isProbing: boolean;
  /** A call could not reach it. */
  isLookWanted: boolean;
  /** of the next probe for a sign of life */
  dueMs: number;
  pauseMs: number;
}

const probeMs = 5_000;
const longestPauseMs = 60_000;

/**
 * Probes the endpoints of participants that the hub calls itself: every 10 s where the probe is the sign of life, and as
 * the verdict says where the model server is not ready or a call could not reach it. Contract §2 and §3. Driven by the hub's sweep; owns no timer.
 */
export class EndpointWatch {
  readonly #options: EndpointWatchOptions;
  readonly #watched = new Map<Participant, Watched>();

  constructor(options: EndpointWatchOptions) {
    this.#options = options;
  }

  /** Probes a participant's endpoint while there is a reason to. */
  add(participant: Participant): void {
    this.#watch(participant);
  }

  /** Probes it once at least. */
  lookSoon(participant: Participant): void {
    this.#watch(participant).isLookWanted = true;
  }

  #watch(participant: Participant): Watched {
    const known = this.#watched.get(participant);
    if (known !== undefined) return known;
    const watched: Watched = {
      participant,
      credentials: undefined,
      place: "",
      isProbing: false,
      isLookWanted: false,
      dueMs: this.#options.nowMs() + HEARTBEAT_INTERVAL_MS,
      pauseMs: HEARTBEAT_INTERVAL_MS,
    };
    this.#watched.set(participant, watched);
    return watched;
  }

  /** Begins the probes that are due. */
  tick(nowMs: number): void {
    for (const watched of this.#watched.values()) {
      if (!this.#hasReason(watched)) this.#watched.delete(watched.participant);
      else if (!watched.isProbing && this.#isDue(watched, nowMs)) void this.#probe(watched);
    }
  }

  #hasReason({ participant, isLookWanted }: Watched): boolean {
    const {
      paths: { direct },
      liveness,
      presence: { status },
    } = participant;
    if (direct.kind === "refused" || !this.#options.isPresent(participant)) return false;
    return liveness === "probe" || (status === "online" && (isLookWanted || isUnready(direct)));
  }

  #isDue({ participant, isLookWanted, dueMs }: Watched, nowMs: number): boolean {
    // The agent probes its model server itself, and its tunnel is the sign of life.
    if (participant.paths.tunnel.kind !== "closed") return false;
    if (participant.liveness === "probe" && dueMs <= nowMs) return true;
    if (!isLookWanted && !isUnready(participant.paths.direct)) return false;
    return this.#options.serverOf(participant).lookInMs() === 0;
  }

  /** One probe serves all who share the place. Never rejects. */
  async #probe(first: Watched): Promise<void> {
    const place = this.#placeOf(first);
    const sharing = [...this.#watched.values()].filter(
      (one) =>
        !one.isProbing &&
        one.participant.paths.tunnel.kind === "closed" &&
        this.#placeOf(one) === place,
    );
    for (const each of sharing) each.isProbing = true;
    const server = this.#options.serverOf(first.participant);
    const found = await server.probe(probeMs);
    for (const each of sharing) {
      each.isProbing = false;
      each.isLookWanted = false;
      // The result is about the endpoint and the credentials of when the probe began.
      if (this.#placeOf(each) !== place || !this.#options.isPresent(each.participant)) continue;
      if (each !== first) this.#options.serverOf(each.participant).probed(found);
      this.#conclude(each, found);
    }
  }

  #conclude(watched: Watched, found: ProbeResult): void {
    const { participant } = watched;
    const isLife = participant.liveness === "probe" && isSignOfLife(participant, found);
    this.#options.onProbed(participant, found, isLife);
    // While it is online there are three tries before the silence is too long.
    const mayRest = !isLife && participant.presence.status === "offline";
    watched.pauseMs = mayRest
      ? Math.min(2 * watched.pauseMs, longestPauseMs)
      : HEARTBEAT_INTERVAL_MS;
    watched.dueMs = this.#options.nowMs() + watched.pauseMs;
  }

  #placeOf(watched: Watched): string {
    const { participant } = watched;
    if (watched.credentials !== participant.learned.credentials) {
      watched.credentials = participant.learned.credentials;
      watched.place = this.#options.placeOf(participant);
    }
    return watched.place;
  }
}

/** Its server responds, but is not ready. One that cannot be reached is probed at heartbeats. */
function isUnready(direct: DirectPath): boolean {
  return direct.kind === "answered" && direct.readiness !== "ready";
}

/** A model list, or a missing one where calls work: a login page or a gateway without its server responds too. */
function isSignOfLife(
  { learned: { credentials } }: Participant,
  { answered, status = 0 }: ProbeResult,
): boolean {
  if (!answered) return false;
  return (status >= 200 && status < 300) || (credentials.haveWorked && [404, 405].includes(status));
}

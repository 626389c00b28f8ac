import { HEARTBEAT_INTERVAL_MS } from "@roomhub/protocol";
import type { ModelServer, ProbeResult } from "@roomhub/provider";
import type { CredentialUse, DirectPath, Participant } from "../../domain/participant.ts";

type Server = Pick<ModelServer, "probe" | "probed" | "lookInMs">;

interface EndpointWatchOptions {
  nowMs: () => number;
  /** Whether this registration is still the current one of its id. */
  isPresent: (participant: Participant) => boolean;
  serverOf: (participant: Participant) => Server;
  /** Equal for participants that share a probe: same model list, same credentials. */
  placeOf: (participant: Participant) => string;
  /** @param isLife - the response counts as a heartbeat */
  onProbed: (participant: Participant, found: ProbeResult, isLife: boolean) => void;
}

interface Watched {
  readonly participant: Participant;
  /** the credentials that `place` was computed for */
  credentials: CredentialUse | undefined;
  place: string;
  isProbing: boolean;
  /** A call could not reach the endpoint. */
  isLookWanted: boolean;
  /** of the next probe for a sign of life */
  dueMs: number;
  pauseMs: number;
}

const probeMs = 5_000;
const longestPauseMs = 60_000;

/**
 * Probes the endpoints of participants that the hub calls itself: every 10 s where the probe is the sign of life, and
 * when the verdict is due where the model server is not ready or a call could not reach it. Contract §2 and §3. Has no
 * timer: the hub's sweep drives it.
 */
export class EndpointWatch {
  readonly #options: EndpointWatchOptions;
  readonly #watched = new Map<Participant, Watched>();

  constructor(options: EndpointWatchOptions) {
    this.#options = options;
  }

  /** Probes the endpoint at least once. */
  lookSoon(participant: Participant): void {
    this.add(participant).isLookWanted = true;
  }

  /** Probes a participant's endpoint while there is a reason to. */
  add(participant: Participant): Watched {
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

  /** Starts the probes that are due. */
  tick(nowMs: number): void {
    for (const watched of this.#watched.values()) {
      if (!this.#hasReason(watched)) this.#watched.delete(watched.participant);
      else if (!watched.isProbing && this.#isDue(watched, nowMs)) void this.#probe(watched);
    }
  }

  #hasReason({ participant, isLookWanted }: Watched): boolean {
    const { liveness } = participant;
    const { direct } = participant.paths;
    const { status } = participant.presence;
    if (direct.kind === "refused" || !this.#options.isPresent(participant)) return false;
    return liveness === "probe" || (status === "online" && (isLookWanted || isUnready(direct)));
  }

  #isDue({ participant, isLookWanted, dueMs }: Watched, nowMs: number): boolean {
    // With a tunnel, the agent probes its model server and the tunnel is the sign of life.
    if (participant.paths.tunnel.kind !== "closed") return false;
    if (participant.liveness === "probe" && dueMs <= nowMs) return true;
    if (!isLookWanted && !isUnready(participant.paths.direct)) return false;
    return this.#options.serverOf(participant).lookInMs() === 0;
  }

  /** One probe serves all participants with the same place. Never rejects. */
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
      // The result concerns the endpoint and credentials at the beginning of the probe.
      if (this.#placeOf(each) !== place || !this.#options.isPresent(each.participant)) continue;
      if (each !== first) this.#options.serverOf(each.participant).probed(found);
      this.#conclude(each, found);
    }
  }

  #conclude(watched: Watched, found: ProbeResult): void {
    const { participant } = watched;
    const isLife = participant.liveness === "probe" && isSignOfLife(participant, found);
    this.#options.onProbed(participant, found, isLife);
    // An online participant gets three probes before it counts as silent.
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

/** The server responds but is not ready. An unreachable one is probed at heartbeats. */
function isUnready(direct: DirectPath): boolean {
  return direct.kind === "answered" && direct.readiness !== "ready";
}

/** A model list, or a missing list where calls work: login pages and gateways without their server respond too. */
function isSignOfLife({ learned }: Participant, { answered, status = 0 }: ProbeResult): boolean {
  const { credentials } = learned;
  if (!answered) return false;
  return (status >= 200 && status < 300) || (credentials.haveWorked && [404, 405].includes(status));
}

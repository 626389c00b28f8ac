import {
  type AddressClass,
  type ProbeResult,
  ProviderClient,
  type ReadinessVerdict,
  scrubSecrets,
} from "@roomhub/provider";
import { createHash } from "node:crypto";
import type { AuthHeaderVault } from "../credentials/vault.ts";
import type { DirectPath, Participant, Registrant, Registration } from "../domain/participant.ts";
import type { Upstream } from "../inference/upstream.ts";
import {
  addressProblem,
  DIAL_RIGHTS,
  dialRightOf,
  directPathOf,
  type DialRight,
  type MachineAddresses,
} from "./direct/policy.ts";
import { EndpointWatch } from "./direct/endpoint-watch.ts";
import { ModelServers } from "./direct/model-servers.ts";
import { DirectUpstream, type DirectEvents } from "./direct/upstream.ts";
import type { TunnelRegistry } from "./tunnel/registry.ts";
import { TunnelUpstream } from "./tunnel/upstream.ts";

interface UpstreamDirectoryOptions {
  tunnels: TunnelRegistry;
  vault: AuthHeaderVault;
  isDirectEnabled: boolean;
  addresses: MachineAddresses;
  connectTimeoutMs: number;
  probeTimeoutMs: number;
  loadingMs: number;
  nowMs: () => number;
  /** false once the participant has left its room */
  isPresent: (participant: Participant) => boolean;
  directEvents: Omit<DirectEvents, "responded" | "lookMoved"> & {
    /** @param isLife - the response counts as a heartbeat */
    responded(participant: Participant, verdict: ReadinessVerdict, isLife: boolean): void;
  };
}

/** How to reach each participant: its tunnel whenever that is open, else its endpoint where that is allowed. */
export class UpstreamDirectory {
  readonly #options: UpstreamDirectoryOptions;
  /** One pool of sockets per right: a socket opened under one must not serve another. */
  readonly #clients: Record<DialRight, ProviderClient>;
  readonly #servers: ModelServers;
  readonly #classify: (address: string) => AddressClass;
  readonly #watch: EndpointWatch;
  readonly #probes = new Map<string, Promise<void>>();
  /** looked up for each call */
  readonly #rights = new WeakMap<Registrant, DialRight>();

  constructor(options: UpstreamDirectoryOptions) {
    this.#options = options;
    this.#classify = (address) => options.addresses.classify(address);
    const clients = DIAL_RIGHTS.map((right) => [
      right,
      new ProviderClient({
        connectTimeoutMs: options.connectTimeoutMs,
        addressProblem: (address) => addressProblem(right, address, this.#classify),
      }),
    ]);
    this.#clients = Object.fromEntries(clients) as Record<DialRight, ProviderClient>;
    const { nowMs, loadingMs, isPresent } = options;
    this.#servers = new ModelServers({
      clientFor: ({ registrant }) => this.#clients[this.#dialRightOf(registrant)],
      headersOf: (participant) => this.#headersOf(participant),
      isPresent,
      events: {
        responded: (participant, verdict) => this.#responded(participant, verdict, false),
        lookMoved: (participant) => this.#watch.lookSoon(participant),
        failed: (participant, reason) => {
          options.directEvents.failed(participant, reason);
          this.#watch.lookSoon(participant);
        },
        learned: (participant, known) => options.directEvents.learned(participant, known),
        reported: (participant, load) => options.directEvents.reported(participant, load),
        loaded: (participant, models) => options.directEvents.loaded(participant, models),
      },
      nowMs,
      loadingMs,
    });
    this.#watch = new EndpointWatch({
      nowMs,
      isPresent,
      serverOf: (participant) => this.#servers.serverOf(participant),
      placeOf: (participant) => this.#placeOf(participant),
      onProbed: (participant, found, isLife) => this.#record(participant, found, isLife),
    });
  }

  /** Begins the probes that are due. */
  tick(nowMs: number): void {
    this.#watch.tick(nowMs);
  }

  /** Its endpoint is probed for signs of life from now on. */
  watch(participant: Participant): void {
    this.#watch.add(participant);
  }

  renewed(participant: Participant, what: { credentials: boolean; model: boolean }): void {
    this.#servers.renewed(participant, what);
  }

  upstreamFor(participant: Participant): Upstream | undefined {
    // What is begun now would wait in the tunnel, and its endpoint is not called while the tunnel may come back.
    if (participant.tunnel.kind === "resuming") return undefined;
    const session = this.#options.tunnels.sessionOf(participant);
    if (session !== undefined)
      return new TunnelUpstream(session, participant, this.#headersOf(participant));
    if (participant.direct.kind === "refused") return undefined;
    return new DirectUpstream(this.#servers.serverOf(participant), this.#headersOf(participant));
  }

  settingsChanged(participant: Participant): void {
    this.#servers.settingsChanged(participant);
  }

  directPathOf(
    registration: Pick<Registration, "baseUrl" | "isTunnelOnly" | "registrant">,
  ): DirectPath {
    return directPathOf(registration, this.#options.isDirectEnabled, this.#classify);
  }

  /**
   * `GET <base>/models`: any HTTP response counts. What else can be detected follows in the background, when it is due.
   * Never rejects. One at a time per endpoint of a participant, shared by all callers.
   */
  probe(participant: Participant): Promise<void> {
    const place = `${participant.key} ${participant.baseUrl}`;
    const running = this.#probes.get(place);
    if (running !== undefined) return running;
    const probe = this.#probe(participant).finally(() => this.#probes.delete(place));
    this.#probes.set(place, probe);
    return probe;
  }

  async #probe(participant: Participant): Promise<void> {
    const { baseUrl } = participant;
    const found = await this.#servers.serverOf(participant).probe(this.#options.probeTimeoutMs);
    // The result is stale when the endpoint changed meanwhile.
    if (participant.baseUrl === baseUrl) this.#record(participant, found, false);
  }

  #record(participant: Participant, found: ProbeResult, isLife: boolean): void {
    const verdict = this.#servers.serverOf(participant).readiness;
    if (found.answered) this.#responded(participant, verdict, isLife);
    else if (found.isTimeout !== true || verdict.readiness === "down") {
      const reason = found.problem ?? "its endpoint does not respond";
      this.#options.directEvents.failed(participant, reason);
    }
  }

  #responded(participant: Participant, verdict: ReadinessVerdict, isLife: boolean): void {
    this.#options.directEvents.responded(participant, verdict, isLife);
    if (verdict.readiness !== "ready") this.#watch.add(participant);
  }

  /** Where a probe of this participant goes, and with which credentials: one serves all that have the same. */
  #placeOf(participant: Participant): string {
    const headers = JSON.stringify(this.#headersOf(participant));
    const secret = createHash("sha256").update(headers).digest("base64");
    return `${this.#dialRightOf(participant.registrant)} ${participant.baseUrl} ${secret}`;
  }

  /** Takes the participant's secrets out of what its provider says; undefined when there are none. */
  scrubberOf({ key }: Participant): ((text: string) => string) | undefined {
    const { vault } = this.#options;
    if (!vault.has(key)) return undefined;
    // Now: what comes back may repeat a key that was changed or dropped meanwhile.
    const secrets = vault.secretsOf(key);
    return (text) => scrubSecrets(text, secrets);
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#clients).map((client) => client.close()));
  }

  #dialRightOf(registrant: Registrant): DialRight {
    const known = this.#rights.get(registrant);
    if (known !== undefined) return known;
    const right = dialRightOf(registrant);
    this.#rights.set(registrant, right);
    return right;
  }

  /** What is added to every request of a participant; the same object as long as it is the same. */
  headersOf(participant: Participant): Readonly<Record<string, string>> {
    return this.#headersOf(participant);
  }

  #headersOf(participant: Participant): Readonly<Record<string, string>> {
    return this.#options.vault.headersFor(participant.key, participant.endpointOrigin);
  }
}

import type { World } from "@roomhub/protocol";
import {
  type AddressClass,
  type ProbeResult,
  ProviderClient,
  scrubSecrets,
} from "@roomhub/provider";
import { createHash } from "node:crypto";
import type { AuthHeaderVault } from "../credentials/vault.ts";
import type { DirectPath, Participant, Registrant, Registration } from "../domain/participant.ts";
import type { DirectReport } from "../domain/path-reports.ts";
import type { Upstream } from "../inference/upstream.ts";
import { EndpointWatch } from "./direct/endpoint-watch.ts";
import { directUpstream, ModelServers } from "./direct/model-servers.ts";
import {
  addressProblem,
  DIAL_RIGHTS,
  type DialRight,
  dialRightOf,
  directPathOf,
  type MachineAddresses,
} from "./direct/policy.ts";
import type { TunnelRegistry } from "./tunnel/registry.ts";
import { tunnelUpstream } from "./tunnel/upstream.ts";

interface UpstreamDirectoryOptions {
  tunnels: TunnelRegistry;
  vault: AuthHeaderVault;
  isDirectEnabled: boolean;
  addresses: MachineAddresses;
  connectTimeoutMs: number;
  probeTimeoutMs: number;
  loadingMs: number;
  world: World;
  /** false once the participant has left its room */
  isPresent: (participant: Participant) => boolean;
  report: (participant: Participant, report: DirectReport) => void;
}

/** How to reach each participant: its tunnel whenever that is open, else its endpoint where that is allowed. */
export class UpstreamDirectory {
  readonly #options: UpstreamDirectoryOptions;
  /** One pool of sockets per right: a socket opened under one must not serve another. */
  readonly #clients: Record<DialRight, ProviderClient>;
  readonly #servers: ModelServers;
  readonly #watch: EndpointWatch;
  readonly #probes = new Map<string, Promise<void>>();
  /** looked up for each call */
  readonly #rights = new WeakMap<Registrant, DialRight>();

  constructor(options: UpstreamDirectoryOptions) {
    this.#options = options;
    const { connectTimeoutMs, world, loadingMs, isPresent } = options;
    const clients = DIAL_RIGHTS.map((right) => [
      right,
      new ProviderClient({
        ...{ connectTimeoutMs, world },
        addressProblem: (address) => addressProblem(right, address, this.#classify),
      }),
    ]);
    this.#clients = Object.fromEntries(clients) as Record<DialRight, ProviderClient>;
    const serverOf = (participant: Participant) => this.#servers.serverOf(participant);
    this.#servers = new ModelServers({
      clientFor: ({ registrant }) => this.#clients[this.#dialRightOf(registrant)],
      headersOf: (participant) => this.#headersOf(participant),
      report: (participant, report) => this.#report(participant, report),
      onLookMoved: (participant) => this.#watch.lookSoon(participant),
      ...{ isPresent, world, loadingMs },
    });
    this.#watch = new EndpointWatch({
      ...{ nowMs: () => world.monotonicMs(), isPresent, serverOf },
      placeOf: (participant) => this.#placeOf(participant),
      onProbed: (participant, found, isLife) => this.#record(participant, found, isLife),
    });
  }

  readonly #classify = (address: string): AddressClass => this.#options.addresses.classify(address);

  /** Starts the probes that are due. */
  tick(nowMs: number): void {
    this.#watch.tick(nowMs);
  }

  /** From now on its endpoint is probed for signs of life, as long as its `liveness` says so. */
  watch(participant: Participant): void {
    this.#watch.add(participant);
  }

  /** Forgets what was learned of its model server with other credentials or for another model name. */
  renewed(participant: Participant, what: { credentials: boolean; model: boolean }): void {
    this.#servers.renewed(participant, what);
  }

  /** Its config or declared capabilities have changed: what its endpoint serves may follow from them. */
  settingsChanged(participant: Participant): void {
    this.#servers.settingsChanged(participant);
  }

  /** See {@link TunnelRegistry.close}. */
  closeTunnel(participant: Participant, why: Parameters<TunnelRegistry["close"]>[1]): void {
    this.#options.tunnels.close(participant, why);
  }

  /** How to reach a participant now; undefined when it has no open path. */
  upstreamFor(participant: Participant): Upstream | undefined {
    // A request would wait in the tunnel, and the endpoint is not called while the tunnel may resume.
    if (participant.paths.tunnel.kind === "interrupted") return undefined;
    const session = this.#options.tunnels.sessionOf(participant);
    if (session !== undefined)
      return tunnelUpstream(session, participant, this.#headersOf(participant));
    if (participant.paths.direct.kind === "refused") return undefined;
    return directUpstream(this.#servers.serverOf(participant), this.#headersOf(participant));
  }

  /** Whether the hub may call an endpoint itself, judged by what can be judged before dialling. */
  directPathOf(
    registration: Pick<Registration, "baseUrl" | "isTunnelOnly" | "registrant">,
  ): DirectPath {
    return directPathOf(registration, this.#options.isDirectEnabled, this.#classify);
  }

  /**
   * `GET <base>/models`: any HTTP response counts. Other detection follows in the background, when it is due. Never rejects.
   * One at a time per endpoint of a participant, shared by all callers.
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
    if (found.answered) this.#report(participant, { kind: "responded", verdict, isLife });
    else if (found.isTimeout !== true || verdict.readiness === "down") {
      const reason = found.problem ?? "its endpoint does not respond";
      this.#options.report(participant, { kind: "failed", reason });
    }
  }

  #report(participant: Participant, report: DirectReport): void {
    this.#options.report(participant, report);
    if (report.kind === "failed") this.#watch.lookSoon(participant);
    const isUnready = report.kind === "responded" && report.verdict.readiness !== "ready";
    if (isUnready) this.#watch.add(participant);
  }

  /** Where a probe of this participant goes, and with which credentials: one probe serves all participants with the same. */
  #placeOf(participant: Participant): string {
    const headers = JSON.stringify(this.#headersOf(participant));
    const secret = createHash("sha256").update(headers).digest("base64");
    return `${this.#dialRightOf(participant.registrant)} ${participant.baseUrl} ${secret}`;
  }

  /** Takes the participant's secrets out of what its provider says; undefined when there are none. */
  scrubberOf({ key }: Participant): ((text: string) => string) | undefined {
    const { vault } = this.#options;
    if (!vault.has(key)) return undefined;
    // Read now: the response may repeat a key that is changed or dropped meanwhile.
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

  /** The headers added to every request of a participant; the same object as long as they are the same. */
  #headersOf(participant: Participant): Readonly<Record<string, string>> {
    return this.#options.vault.headersFor(participant.key, participant.endpointOrigin);
  }
}

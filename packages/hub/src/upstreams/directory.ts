import { type AddressClass, ProviderClient, scrubSecrets } from "@roomhub/provider";
import type { AuthHeaderVault } from "../credentials/vault.ts";
import type { DirectPath, Participant, Registrant } from "../domain/participant.ts";
import type { Upstream } from "../inference/upstream.ts";
import {
  addressProblem,
  DIAL_RIGHTS,
  dialRightOf,
  directPathOf,
  type DialRight,
} from "./direct/policy.ts";
import type { MachineAddresses } from "./direct/machine-addresses.ts";
import { ModelServers } from "./direct/model-servers.ts";
import { DirectUpstream, type DirectEvents } from "./direct/upstream.ts";
import type { TunnelRegistry } from "./tunnel/registry.ts";
import { TunnelUpstream } from "./tunnel/upstream.ts";

export interface UpstreamDirectoryOptions {
  tunnels: TunnelRegistry;
  vault: AuthHeaderVault;
  isDirectEnabled: boolean;
  addresses: MachineAddresses;
  connectTimeoutMs: number;
  probeTimeoutMs: number;
  directEvents: DirectEvents;
}

/** How to reach each participant: its tunnel whenever that is open, else its endpoint where that is allowed. */
export class UpstreamDirectory {
  readonly #options: UpstreamDirectoryOptions;
  /** One pool of sockets per right: a socket opened under one must not serve another. */
  readonly #clients: Record<DialRight, ProviderClient>;
  readonly #servers: ModelServers;
  readonly #classify: (address: string) => AddressClass;
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
    this.#servers = new ModelServers({
      clientFor: ({ registrant }) => this.#clients[this.#dialRightOf(registrant)],
      headersOf: (participant) => this.#headersOf(participant),
      events: options.directEvents,
    });
  }

  upstreamFor(participant: Participant): Upstream | undefined {
    const session = this.#options.tunnels.sessionOf(participant);
    if (session !== undefined)
      return new TunnelUpstream(session, participant, this.#headersOf(participant));
    if (participant.direct.kind === "refused") return undefined;
    return new DirectUpstream(this.#servers.serverOf(participant), this.#headersOf(participant));
  }

  settingsChanged(participant: Participant): void {
    this.#servers.settingsChanged(participant);
  }

  directPathOf(participant: Participant): DirectPath {
    return directPathOf(participant, this.#options.isDirectEnabled, this.#classify);
  }

  /**
   * `GET <base>/models`: any HTTP answer counts. What else can be found out follows in the background, when it is due.
   * Never rejects. One at a time per endpoint of a participant, whoever asks.
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
    const { probeTimeoutMs, directEvents } = this.#options;
    const { baseUrl } = participant;
    const result = await this.#servers.serverOf(participant).probe(probeTimeoutMs);
    // Of an endpoint that was left meanwhile nobody wants to know.
    if (participant.baseUrl !== baseUrl) return;
    if (result.answered) directEvents.answered(participant);
    else if (result.isTimeout !== true) {
      directEvents.failed(participant, result.problem ?? "its endpoint does not answer");
    }
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

  #headersOf(participant: Participant): Readonly<Record<string, string>> {
    return this.#options.vault.headersFor(participant.key, participant.endpointOrigin);
  }
}

import type { Bonjour, ServiceConfig } from "bonjour-service";
import { normaliseHubUrl } from "@roomhub/client";

/** What a hub tells the network about itself. Rooms are not part of it: whoever finds the hub asks it for them. */
export interface Announced {
  /** Whose machine it is, for tools that list services. */
  hostName: string;
  port: number;
  version: string;
}

/** Finding hubs on the local network by multicast DNS (RFC 6762, 6763). Neither of its two sides ever throws. */
export interface Mdns {
  /**
   * @param addresses - IPv4 addresses of this machine; it is announced on the network of each
   * @returns takes the announcement back
   */
  announce(hub: Announced, addresses: readonly string[], onProblem: OnProblem): Promise<Release>;
  /**
   * @param onHub - told each hub's URL, perhaps more than once
   * @returns ends the search
   */
  browse(
    addresses: readonly string[],
    onHub: (hubUrl: string) => void,
    onProblem: OnProblem,
  ): Promise<Release>;
}

type OnProblem = (reason: string) => void;
type Release = () => Promise<void>;

const serviceType = "roomhub";
/** A goodbye that cannot be sent must not keep a hub from stopping. */
const goodbyeMs = 500;

export const mdns: Mdns = {
  async announce({ hostName, port, version }, addresses, onProblem) {
    const speakers = await speakersOn(addresses, onProblem);
    for (const speaker of speakers) {
      speaker.publish({
        name: `roomhub on ${hostName} ${port}`,
        type: serviceType,
        port,
        // Asking first whether the name is free makes the library write to the console when it is not; it holds host and
        // port, which nobody else has.
        probe: false,
        disableIPv6: true,
        txt: { version, path: "/" },
      });
    }
    return async () => {
      const sent = speakers.map(
        (speaker) =>
          new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, goodbyeMs);
            speaker.unpublishAll(() => {
              clearTimeout(timer);
              resolve();
            });
          }),
      );
      await Promise.all(sent);
      for (const speaker of speakers) speaker.destroy();
    };
  },

  async browse(addresses, onHub, onProblem) {
    const speakers = await speakersOn(addresses, onProblem);
    for (const speaker of speakers) {
      speaker.find({ type: serviceType }, ({ referer, addresses: told, port, txt }) => {
        // The address that the answer came from is one that leads there.
        const host = referer?.address ?? told?.[0];
        const url = host === undefined ? undefined : hubUrlOf(host, port, txt);
        if (url !== undefined) onHub(url);
      });
    }
    return async () => {
      for (const speaker of speakers) speaker.destroy();
    };
  },
};

/** Anybody on the network can say anything. @returns undefined when it makes no URL */
function hubUrlOf(host: string, port: number, txt: unknown): string | undefined {
  const told = (txt as { path?: unknown } | undefined)?.path;
  const path = typeof told === "string" && /^\/[\w./-]*$/.test(told) ? told : "/";
  try {
    return normaliseHubUrl(`http://${host}:${port}${path}`);
  } catch {
    // A hub that cannot be reached is not found.
    return undefined;
  }
}

/**
 * One for each network: a single one would only be heard on the network of the default route, which is the wrong one beside a
 * VPN.
 */
async function speakersOn(addresses: readonly string[], onProblem: OnProblem): Promise<Bonjour[]> {
  const { default: BonjourService } = await import("bonjour-service");
  const tell = (error: unknown) =>
    onProblem(error instanceof Error ? error.message : String(error));
  return addresses.map((address) => {
    // Options of multicast-dns, which the library's types leave out. Bound to the address itself it would hear no multicast.
    const options = { interface: address, bind: "0.0.0.0" } as unknown as Partial<ServiceConfig>;
    const speaker = new BonjourService(options, tell);
    // Nobody listens to these in the library: an unheard "error" would end the process.
    const socket = speaker["server"].mdns as NodeJS.EventEmitter;
    socket.on("error", tell);
    return speaker;
  });
}

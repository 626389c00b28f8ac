import { pause, systemWorld } from "@roomhub/protocol";
import type { Bonjour, ServiceConfig } from "bonjour-service";
import { normaliseHubUrl } from "@roomhub/client";
import { reasonOf } from "../terminal/text.ts";

/** What a hub announces on the network. Rooms are not included: clients query the hub for them. */
export interface Announced {
  /** Identifies the machine in tools that list services. */
  hostName: string;
  port: number;
  version: string;
}

type OnProblem = (reason: string) => void;
type Release = () => Promise<void>;

const serviceType = "roomhub";
/** A goodbye packet that cannot be sent must not keep a hub from stopping. */
const goodbyeMs = 500;

/** Hub discovery on the local network by multicast DNS (RFC 6762, 6763). Problems are reported, never thrown. */
export const mdns = {
  /**
   * @param addresses - IPv4 addresses of this machine; the hub is announced on the network of each
   * @returns withdraws the announcement
   */
  async announce(
    { hostName, port, version }: Announced,
    addresses: readonly string[],
    onProblem: OnProblem,
  ): Promise<Release> {
    const responders = await respondersOn(addresses, onProblem);
    for (const responder of responders) {
      responder.publish({
        name: `roomhub on ${hostName} ${port}`,
        type: serviceType,
        port,
        // With a probe the library writes to the console when the name is taken; host and port make it unique anyway.
        probe: false,
        disableIPv6: true,
        txt: { version, path: "/" },
      });
    }
    return async () => {
      const sent = responders.map((responder) => {
        const said = new AbortController();
        responder.unpublishAll(() => said.abort());
        return pause(systemWorld, goodbyeMs, said.signal);
      });
      await Promise.all(sent);
      for (const responder of responders) responder.destroy();
    };
  },

  /**
   * @param onHub - called with each hub's URL, perhaps more than once
   * @returns ends the search
   */
  async browse(
    addresses: readonly string[],
    onHub: (hubUrl: string) => void,
    onProblem: OnProblem,
  ): Promise<Release> {
    const responders = await respondersOn(addresses, onProblem);
    for (const responder of responders) {
      responder.find({ type: serviceType }, ({ referer, addresses: announced, port, txt }) => {
        // The sender's address is one that is reachable from here.
        const host = referer?.address ?? announced?.[0];
        const url = host === undefined ? undefined : hubUrlOf(host, port, txt);
        if (url !== undefined) onHub(url);
      });
    }
    return async () => {
      for (const responder of responders) responder.destroy();
    };
  },
};

/** Announcements are untrusted. @returns undefined when they do not form a valid URL */
function hubUrlOf(host: string, port: number, txt: unknown): string | undefined {
  const given = (txt as { path?: unknown } | undefined)?.path;
  const path = typeof given === "string" && /^\/[\w./-]*$/.test(given) ? given : "/";
  try {
    return normaliseHubUrl(`http://${host}:${port}${path}`);
  } catch {
    // Without a valid URL the hub cannot be reached.
    return undefined;
  }
}

/**
 * One per network: a single one would send only on the network of the default route, the wrong one when a VPN is up.
 */
async function respondersOn(
  addresses: readonly string[],
  onProblem: OnProblem,
): Promise<Bonjour[]> {
  const { default: BonjourService } = await import("bonjour-service");
  const report = (error: unknown) => onProblem(reasonOf(error));
  return addresses.map((address) => {
    // Options of multicast-dns that the library's types leave out. A socket bound to the address would receive no multicast.
    const options = { interface: address, bind: "0.0.0.0" } as unknown as Partial<ServiceConfig>;
    const responder = new BonjourService(options, report);
    // The library does not handle these, and an unhandled "error" would end the process.
    const socket = responder["server"].mdns as NodeJS.EventEmitter;
    socket.on("error", report);
    return responder;
  });
}

import type { Limits, World } from "@roomhub/protocol";
import type { ClusterDirectory } from "./cluster/directory.ts";
import type { Handout } from "./http/handed-out.ts";
import type { LogFormat } from "./log.ts";
import type { OwnershipMode, RoomCreators } from "./operations/context.ts";
import type { RoomStore } from "./storage/room-store.ts";
import type { CertificatePair } from "./http/tls-port.ts";

export const DEFAULT_PORT = 5050;

/** The cluster of a hub. */
export interface ClusterOptions {
  /** what all hubs of the cluster know; the hub opens and closes it */
  directory: ClusterDirectory;
  /** at least 32 bytes, the same at all hubs */
  secret: Uint8Array;
  /** where clients and participants reach this hub; left out: where it listens */
  advertiseUrl?: string | undefined;
  /** where other hubs reach it, with `#pin=…` for one key alone; left out: the advertised URL */
  linkUrl?: string | undefined;
}

/** HTTPS beside HTTP, on the same port. */
interface TlsOptions extends CertificatePair {
  /** the key of the certificate, `sha256-…`, where invites pin it because no authority vouches for it */
  pin?: string | undefined;
  /** plain HTTP gets `tls_required` with the URL to use; false when left out */
  only?: boolean | undefined;
}

/** How a hub behaves. Everything may be left out. */
export interface HubOptions {
  /** where to listen; left out: this machine only, over IPv4 and IPv6 */
  host?: string | undefined;
  /** 5050 when left out, 0 for any free one */
  port?: number | undefined;
  /** left out: plain HTTP only */
  tls?: TlsOptions | undefined;
  /** where rooms survive a restart; left out: nowhere */
  store?: RoomStore | undefined;
  /** whether the hub may call participants' endpoints itself; true when left out */
  direct?: boolean | undefined;
  /** which peers may change an existing participant; `compat` when left out. Contract §3 */
  ownership?: OwnershipMode | undefined;
  /** whether every new room is closed: its use needs a key, and its creation returns the first one. Contract §9 */
  closed?: boolean | undefined;
  /** who may create rooms: `anyone` when left out, or the `host` of the hub, its operator alone. Contract §9 */
  create?: RoomCreators | undefined;
  /** how others reach this hub through a proxy */
  publicUrl?: string | undefined;
  /**
   * How other machines reach this hub without a proxy: pasted lines have it in place of a loopback address; undefined
   * when they cannot.
   *
   * @param port - the port it listens on
   */
  sharedUrl?: ((port: number) => string | undefined) | undefined;
  /** proxies whose forwarding headers are trusted: addresses or CIDR */
  trustProxy?: readonly string[] | undefined;
  /** addresses that many clients share, such as a container's gateway: a peer with one has no address. Contract §3 */
  sharedAddresses?: readonly string[] | undefined;
  /**
   * Whether to request the usage of chat streams from providers that are known to support it, and hide the extra event
   * from clients that did not request it; true when left out. `false`: streams pass byte for byte.
   */
  streamUsage?: boolean | undefined;
  /** proves that a request comes from the operator, in `x-roomhub-admin`; left out: nothing does. Contract §9 */
  adminSecret?: string | undefined;
  /** what to hand out beside the API; nothing when left out. Contract §7 */
  handout?: Handout | undefined;
  /** left out: the hub is alone */
  cluster?: ClusterOptions | undefined;
  limits?: Partial<Limits> | undefined;
  /** `silent` when left out: an embedded hub writes nothing */
  logFormat?: LogFormat | undefined;
  /** where log lines go, one or more at once, each with its end; stdout when left out */
  writeLog?: ((lines: string) => void) | undefined;
  /** time, timers and randomness; the system's when left out */
  world?: World | undefined;
}

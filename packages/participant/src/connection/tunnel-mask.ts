import { isLoopbackHost } from "@roomhub/protocol";
import type { ClientOptions } from "ws";

/** `auto` masks with random keys where a proxy may read the bytes; `none` never does. */
export type TunnelMask = "auto" | "none";

/**
 * How a tunnel's frames are masked, see docs/decisions/0039-frames-that-nothing-reads-have-a-zero-mask.md.
 *
 * @param url - ws or wss
 */
export function maskOptions(url: URL, mask: TunnelMask): Pick<ClientOptions, "generateMask"> {
  const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const isHidden = url.protocol === "wss:" || isLoopbackHost(hostname);
  return isHidden || mask === "none" ? zeroMask : randomMask;
}

/** `ws` neither masks with a key of zeros nor unmasks. */
const zeroMask = Object.freeze({ generateMask: (mask: Buffer) => void mask.fill(0) });
const randomMask = Object.freeze({});

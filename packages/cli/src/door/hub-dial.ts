import { pinnedTls, verifyPinned } from "@roomhub/protocol";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { portOf } from "../rooms/hub-address.ts";

/** A hub that is away leaves the first packet without a reply. */
const connectMs = 10_000;
/** A hub whose machine is off closes no connection; the system looks after this time. */
const aliveProbeMs = 5_000;

/**
 * How connections to a hub are opened: with the pinned key, with a certificate that an authority signed, or plain.
 *
 * @param hubUrl - `https:` where there is a pin
 * @returns a function that rejects with the reason; nothing was written to the hub then
 */
export function hubDialler(hubUrl: string, pin: string | undefined): () => Promise<Socket> {
  const url = new URL(hubUrl);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const at = { host, port: portOf(url), noDelay: true, keepAlive: true };
  const tcp = { ...at, keepAliveInitialDelay: aliveProbeMs };
  if (url.protocol === "http:") return () => opened(connect(tcp), "connect");
  const name = isIP(host) === 0 ? { servername: host } : {};
  const tls = { ...tcp, ...name, ALPNProtocols: ["http/1.1"] };
  if (pin === undefined) return () => opened(connectTls(tls), "secureConnect");
  return async () => {
    const socket = connectTls({ ...tls, ...pinnedTls });
    await verifyPinned(socket, pin);
    return ready(socket);
  };
}

async function opened(socket: Socket, event: "connect" | "secureConnect"): Promise<Socket> {
  const late = new Error(`no connection within ${connectMs / 1_000} s`);
  await new Promise<void>((resolve, reject) => {
    socket.setTimeout(connectMs, () => socket.destroy(late));
    socket.once("error", reject).once(event, () => {
      socket.off("error", reject);
      resolve();
    });
  });
  return ready(socket);
}

/** A response may take as long as its model needs. */
function ready(socket: Socket): Socket {
  socket.setTimeout(0).removeAllListeners("timeout");
  return socket.setNoDelay(true).setKeepAlive(true, aliveProbeMs);
}

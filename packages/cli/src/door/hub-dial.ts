import { pinnedTls, verifyPinned } from "@roomhub/protocol";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { portOf } from "../rooms/hub-address.ts";

/** A hub that is away leaves the first packet without a reply. */
const connectMs = 10_000;
/** How long a connection may be silent until the system checks it: a machine that is switched off closes none. */
const aliveProbeMs = 5_000;

/**
 * How connections to a hub are opened: with the pinned key, with a certificate that an authority signed, or plain.
 *
 * @param hubUrl - `https:` where there is a pin
 * @param proxyUrl - of a proxy that leads there by CONNECT; undefined for none
 * @returns a function that rejects with the reason; nothing was written to the hub then
 */
export function hubDialler(
  hubUrl: string,
  pin: string | undefined,
  proxyUrl: string | undefined,
): () => Promise<Socket> {
  const url = new URL(hubUrl);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const at = { host, port: portOf(url), noDelay: true, keepAlive: true };
  const tcp = { ...at, keepAliveInitialDelay: aliveProbeMs };
  const way = async () =>
    proxyUrl === undefined ? {} : { socket: await throughProxy(proxyUrl, url.hostname, at.port) };
  if (url.protocol === "http:") {
    return async () => (await way()).socket ?? opened(connect(tcp), "connect");
  }
  const name = isIP(host) === 0 ? { servername: host } : {};
  const tls = { ...tcp, ...name, ALPNProtocols: ["http/1.1"] };
  if (pin === undefined) {
    return async () => opened(connectTls({ ...tls, ...(await way()) }), "secureConnect");
  }
  return async () => {
    const socket = connectTls({ ...tls, ...pinnedTls, ...(await way()) });
    await verifyPinned(socket, pin);
    return ready(socket);
  };
}

/** @param hostname - of the hub, as URLs have it */
async function throughProxy(proxyUrl: string, hostname: string, port: number): Promise<Socket> {
  const proxy = new URL(proxyUrl);
  const send = proxy.protocol === "https:" ? requestHttps : requestHttp;
  const path = `${hostname}:${port}`;
  const user = [proxy.username, proxy.password].map(decodeURIComponent).join(":");
  const headers = {
    host: path,
    ...(user === ":"
      ? {}
      : { "proxy-authorization": `Basic ${Buffer.from(user).toString("base64")}` }),
  };
  return new Promise((resolve, reject) => {
    const request = send(proxy, { method: "CONNECT", path, headers, agent: false });
    const late = new Error(`no response of the proxy ${proxy.host} within ${connectMs / 1_000} s`);
    request.setTimeout(connectMs, () => request.destroy(late));
    request.once("error", reject);
    request.once("connect", ({ statusCode }, socket: Socket, head: Buffer) => {
      if (statusCode !== 200) {
        socket.destroy();
        return reject(
          new Error(`the proxy ${proxy.host} refuses the way to ${path}: ${statusCode}`),
        );
      }
      if (head.length > 0) socket.unshift(head);
      resolve(ready(socket));
    });
    request.end();
  });
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

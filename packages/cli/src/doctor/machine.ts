import { systemWorld } from "@roomhub/protocol";
import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { X509Certificate } from "node:crypto";
import { connect, isIP } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { portOf } from "../rooms/hub-address.ts";
import { pinOf } from "../tls/hub-tls.ts";

const maxBodyBytes = 64 * 1024;

type Environment = Readonly<Record<string, string | undefined>>;

/** What the checks need from the machine they run on, besides the command's context. */
export type Machine = ReturnType<typeof thisMachine>;

export function thisMachine(env: Environment) {
  return {
    /** like `24.11.0` */
    nodeVersion: process.versions.node,
    /** the oldest supported version, like `22.21` */
    neededNode: neededNode(),
    reach,
    tls,
    /** The proxy an agent would use for this URL; undefined for none. */
    proxyFor: async (url: URL): Promise<string | undefined> => {
      const { proxyUrlFor } = await import("@roomhub/participant");
      return proxyUrlFor(url, env);
    },
    handshake: (url: URL, pin: string | undefined, signal: AbortSignal) =>
      handshake(url, pin, env, signal),
  };
}

function neededNode(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const { engines } = JSON.parse(text) as { engines: { node: string } };
  return engines.node.replace(/^\D+/, "");
}

/** Opens a connection and closes it. @returns the address that was reached. @throws Error with a `code` */
function reach(host: string, port: number, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal });
    socket.on("error", reject);
    socket.on("connect", () => {
      resolve(socket.remoteAddress ?? host);
      socket.destroy();
    });
  });
}

/** A TLS handshake at the URL's port, whatever its scheme. @returns undefined when there is no TLS */
function tls(url: URL, signal: AbortSignal): Promise<TlsFacts | undefined> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const name = isIP(host) === 0 ? { servername: host } : {};
  const at = { host, port: portOf(url), ...name, ALPNProtocols: ["http/1.1"] };
  return new Promise((resolve, reject) => {
    const socket = connectTls({ ...at, rejectUnauthorized: false });
    const stop = () => void socket.destroy(signal.reason as Error);
    signal.addEventListener("abort", stop, { once: true });
    socket.on("close", () => signal.removeEventListener("abort", stop));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      const isPlain = /^ERR_SSL_|^EPROTO$|^ECONNRESET$/.test(error.code ?? "");
      if (isPlain && !signal.aborted) resolve(undefined);
      else reject(error);
    });
    socket.on("secureConnect", () => {
      const certificate = socket.getPeerX509Certificate();
      if (certificate !== undefined) resolve(factsOf(socket, certificate));
      else resolve(undefined);
      socket.destroy();
    });
  });
}

/** What a server shows in a TLS handshake, whether its certificate is trusted or not. */
export type TlsFacts = ReturnType<typeof factsOf>;

function factsOf(socket: TLSSocket, certificate: X509Certificate) {
  const { subject, issuer, validFrom, validTo } = certificate;
  // Node's types say Error; it is the code.
  const problem = socket.authorizationError as unknown;
  return {
    /** like `TLSv1.3` */
    protocol: socket.getProtocol() ?? "TLS",
    /** `sha256-…` of its public key */
    pin: pinOf(certificate),
    /** name of the authority */
    issuer: /^(?:O|CN)=(.*)$/m.exec(issuer)?.[1] ?? issuer,
    isSelfSigned: subject === issuer,
    validFrom: new Date(validFrom),
    validTo: new Date(validTo),
    /** the code for why this machine does not trust it */
    problem: typeof problem === "string" ? problem : undefined,
  };
}

/**
 * Sends an agent's WebSocket handshake without a token, through the proxy that applies.
 *
 * @param pin - of the key that the hub must prove to have; undefined for one that authorities vouch for
 * @returns any response
 */
async function handshake(
  url: URL,
  pin: string | undefined,
  env: Environment,
  signal: AbortSignal,
): Promise<{ status: number; body: string }> {
  const { dialAgentFor } = await import("@roomhub/participant");
  const agent = dialAgentFor(url, env, pin);
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(url, {
      signal,
      ...(agent === undefined ? {} : { agent }),
      headers: {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": Buffer.from(systemWorld.randomBytes(16)).toString("base64"),
      },
    });
    request.on("error", reject);
    request.on("upgrade", (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode ?? 0, body: "" });
    });
    request.on("response", (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("error", reject);
      response.on("data", (text: string) => {
        body += text;
        if (body.length > maxBodyBytes) response.destroy();
      });
      response.on("close", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    request.end();
  });
}

import type { Server } from "node:http";
import type { Socket } from "node:net";
import { createServer, type Server as TlsServer } from "node:tls";

/** A certificate with its chain, and its key, as PEM. */
export interface CertificatePair {
  cert: string;
  key: string;
}

/** The first byte of a TLS connection: a record of its handshake. RFC 8446 §5.1. */
const handshakeRecord = 0x16;

/**
 * HTTP and HTTPS on one port, distinguished by the first byte. A connection is handed to the HTTP server in this process, so
 * its peer address is the client's.
 */
export class TlsPort {
  readonly #server: Server;
  readonly #silentMs: number;
  readonly #tls: TlsServer;
  /** with TLS, from the first byte */
  readonly #open = new Set<Socket>();

  /**
   * @param silentMs - a connection that has sent nothing for so long is closed, and so is an unfinished handshake
   * @throws Error when the key does not belong to the certificate
   */
  constructor(server: Server, pair: CertificatePair, silentMs: number) {
    this.#server = server;
    this.#silentMs = silentMs;
    this.#tls = createServer(
      { ...contextOf(pair), ALPNProtocols: ["http/1.1"], handshakeTimeout: silentMs },
      (socket) => this.#server.emit("connection", socket),
    );
    this.#tls.on("tlsClientError", (_error, socket) => socket.destroy());
  }

  /** New connections get this certificate, open ones keep theirs. @throws Error when the key does not belong to it */
  replace(pair: CertificatePair): void {
    this.#tls.setSecureContext(contextOf(pair));
  }

  /**
   * Takes a new connection.
   *
   * @param onTls - called when it has TLS: the HTTP server gets another stream in its place, after the handshake
   */
  take(socket: Socket, onTls: () => void): void {
    const end = (): void => void socket.destroy();
    socket.on("error", end).once("end", end).setTimeout(this.#silentMs, end);
    socket.once("data", (first) => {
      socket.off("end", end).off("timeout", end).setTimeout(0);
      if (first[0] === handshakeRecord) {
        onTls();
        this.#secure(socket, first);
      } else {
        socket.off("error", end);
        this.#server.emit("connection", socket);
        socket.unshift(first);
      }
    });
  }

  /** Cuts the connections that are left. */
  close(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #secure(socket: Socket, first: Buffer): void {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    // The TLS server reads what the stopped stream holds.
    socket.pause();
    socket.unshift(first);
    this.#tls.emit("connection", socket);
  }
}

function contextOf(pair: CertificatePair) {
  return { ...pair, minVersion: "TLSv1.2", maxVersion: "TLSv1.3" } as const;
}

import type { EventListener } from "./events/audience.ts";
import type { CertificatePair } from "./http/tls-port.ts";

export interface HubAddress {
  /** how a client on this machine reaches it */
  url: string;
  host: string;
  port: number;
}

export interface Hub {
  /** Loads the rooms and binds. @throws when the port or the state file is in use */
  listen(): Promise<HubAddress>;
  /**
   * Calls back with the events of a room, in order, frequent ones together, and the last ones before `close()`
   * resolves. The listener must not throw. Events of a room that another hub of the cluster runs arrive a moment later,
   * and none from before that hub is reached.
   *
   * @returns how to stop
   * @throws HubError `room_not_found`
   */
  watch(roomCode: string, listener: EventListener): () => void;
  /**
   * Makes the program that is handed out, before it is requested.
   *
   * @returns its SHA-512 in hexadecimal; undefined when nothing is handed out
   * @throws HubError `handout_unavailable`
   */
  prepareHandout(): Promise<string | undefined>;
  /**
   * New connections get another certificate; open ones are kept.
   *
   * @throws Error when the hub has no TLS, or the key does not belong to the certificate
   */
  replaceCertificate(pair: CertificatePair): void;
  /** Lets running requests finish within the drain limit, cuts the rest. @returns how many were cut */
  close(): Promise<{ cut: number }>;
  [Symbol.asyncDispose](): Promise<void>;
}

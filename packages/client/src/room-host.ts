import {
  type Ban,
  type CreateKeyRequest,
  type Key,
  type NewKey,
  normaliseRoomCode,
  type Room,
  type UpdateRoomRequest,
} from "@roomhub/protocol";
import { callHub, type HubCall, type HubConnection } from "./connection.ts";

/** What shows that a call comes from the host of a room, or from the operator of the hub: either is enough. */
export interface HostProof {
  /** The `hostToken` from the room's creation; sent as `x-host-token`. */
  hostToken?: string | undefined;
  /** The secret of the hub's operator; sent as `x-roomhub-admin`. */
  operatorSecret?: string | undefined;
}

/**
 * What the host of a room may do, in open and closed rooms. Contract §9. Created by `RoomhubClient.asHost()`.
 *
 * Every method throws the same errors as `RoomhubClient`, and `host_token_required` for a proof that is not enough.
 */
export class RoomHost {
  readonly #connection: HubConnection;
  readonly #path: string;
  readonly #proof: HostProof;

  constructor(connection: HubConnection, code: string, proof: HostProof) {
    this.#connection = connection;
    this.#path = roomPath(code);
    this.#proof = proof;
  }

  /** The room, also when it is closed. */
  async room(): Promise<Room> {
    return (await this.#call<{ room: Room }>("GET", "")).room;
  }

  /** Its use needs a key from now on, or no longer does; keys are kept either way. */
  setClosed(
    isClosed: boolean,
  ): Promise<{ room: Room; warnings?: { code: string; message: string }[] }> {
    return this.#call("POST", isClosed ? "/close" : "/open");
  }

  /** @returns the room with its new name */
  rename(name: string): Promise<Room> {
    return this.#update({ name });
  }

  /** @param password - of joins from now on; `null` for none. Participants stay */
  setPassword(password: string | null): Promise<Room> {
    return this.#update({ password });
  }

  /** Ends its requests, participants and event streams. */
  async delete(): Promise<void> {
    await this.#call("DELETE", "");
  }

  /**
   * Removes a participant, and refuses its joins for a while.
   *
   * @param banMs - for how long, at most 30 days; left out: a minute, at which its agent stops
   * @throws `participant_not_found`
   */
  async kick(participantId: string, banMs?: number): Promise<void> {
    const query = banMs === undefined ? "" : `?banMs=${banMs}`;
    await this.#call("POST", `/participants/${encodeURIComponent(participantId)}/kick${query}`);
  }

  /** The participants that were removed and may not join again yet. */
  async bans(): Promise<Ban[]> {
    return (await this.#call<{ bans: Ban[] }>("GET", "/bans")).bans;
  }

  /** Lets a participant join again, from its machine and address too. @returns the bans that are left */
  async liftBan(participantId: string): Promise<Ban[]> {
    const path = `/bans/${encodeURIComponent(participantId)}`;
    return (await this.#call<{ bans: Ban[] }>("DELETE", path)).bans;
  }

  /** The clients whose requests are refused. */
  async blocked(): Promise<string[]> {
    return (await this.#call<{ blocked: string[] }>("GET", "/blocked")).blocked;
  }

  /**
   * Refuses the requests of a client, or no longer; what it runs ends. Keys and participants stay.
   *
   * @param client - its name or fingerprint as events show it, or its address
   */
  async setBlocked(client: string, isBlocked: boolean): Promise<string[]> {
    const path = `/blocked/${encodeURIComponent(client)}`;
    return (await this.#call<{ blocked: string[] }>(isBlocked ? "PUT" : "DELETE", path)).blocked;
  }

  /** The oldest first, including keys that ended within 30 days; without their values. */
  async listKeys(): Promise<Key[]> {
    return (await this.#call<{ keys: Key[] }>("GET", "/keys")).keys;
  }

  /** @returns the key with its value, which is in no later response. @throws `key_name_taken`, `too_many_keys` */
  async createKey(wanted: CreateKeyRequest): Promise<NewKey> {
    return (await this.#call<{ key: NewKey }>("POST", "/keys", wanted)).key;
  }

  /** @param key - its id or name. @throws `key_not_found` */
  async revokeKey(key: string): Promise<Key> {
    return (await this.#call<{ key: Key }>("DELETE", keyPath(key))).key;
  }

  /**
   * Gives a key another value.
   *
   * @param key - its id or name
   * @param graceMs - for how long the value before stays valid, at most 30 days
   */
  async rotateKey(key: string, graceMs = 0): Promise<NewKey> {
    const path = `${keyPath(key)}/rotate?graceMs=${graceMs}`;
    return (await this.#call<{ key: NewKey }>("POST", path)).key;
  }

  async #update(change: UpdateRoomRequest): Promise<Room> {
    return (await this.#call<{ room: Room }>("PUT", "", change)).room;
  }

  #call<T>(method: HubCall["method"], below: string, body?: unknown): Promise<T> {
    return callHub(this.#connection, { method, path: this.#path + below, body, ...this.#proof });
  }
}

export function roomPath(code: string): string {
  return `/v1/rooms/${encodeURIComponent(normaliseRoomCode(code))}`;
}

function keyPath(key: string): string {
  return `/keys/${encodeURIComponent(key)}`;
}

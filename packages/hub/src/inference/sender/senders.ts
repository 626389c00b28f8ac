import { type ClientIdentity, clientText, isClientName, NAME_KEY_PREFIX } from "@roomhub/protocol";
import type { RoomKey } from "../../domain/keys/key-table.ts";
import type { TurnTaker } from "./turns.ts";

/** Who sends a request, and from where. Contract §3, "Names". */
export class Sender implements TurnTaker {
  /** the fingerprint of the address by which clients take turns, 8 hex digits; never shown to clients */
  readonly address: string;
  /** the same object for the same client, as long as it is remembered */
  readonly client: ClientIdentity;
  /** Private, so that no printed sender contains its key, or its address. */
  readonly #proof: OwnerProof;
  readonly #network: string;

  constructor(address: string, client: ClientIdentity, proof: OwnerProof, network: string) {
    this.#network = network;
    this.address = address;
    this.client = client;
    this.#proof = proof;
  }

  get proof(): OwnerProof {
    return this.#proof;
  }

  /** Whether one of the names or addresses is its own. @param names - in lower case */
  isAmong(names: ReadonlySet<string>): boolean {
    if (names.size === 0) return false;
    const { id, user = "" } = this.client;
    return [id.toLowerCase(), user.toLowerCase(), this.#network].some((name) => names.has(name));
  }

  get person(): string {
    return personOf(this.client);
  }
}

/** The text by which the persons of one address take turns. */
function personOf(client: ClientIdentity): string {
  return clientText(client) ?? "";
}

/** What can prove that a request comes from the owner of a participant. Contract §3, "Own requests first". */
interface OwnerProof {
  /** the address of a request without a proxy; undefined behind one, and where addresses prove nothing */
  readonly ownAddress: string | undefined;
  /** a value beginning `rhc_`, right or wrong */
  readonly clientKey: string | undefined;
  /** the id of the room's key that it was sent with; undefined without one */
  readonly keyId: string | undefined;
}

/** Where a request came from. */
export interface Source extends Pick<OwnerProof, "ownAddress"> {
  /** the address by which clients take turns and failures count */
  readonly throttleKey: string;
}

/** What a client's headers claim, unchanged; never shown. */
export interface Claims {
  /** `Authorization`, else `x-api-key` */
  readonly key: string | undefined;
  readonly user: string | undefined;
  /** a value with the prefix `rhc_` in one of both */
  readonly clientKey: string | undefined;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const maxRemembered = 1_024;
/** A client with an empty key sends `Bearer` alone. */
const bearer = /^bearer(?: +(.*))?$/i;
/** The beginning of a participant token, a client key, a host token or a room's key. */
const ownCredential = /^rh[pchk]_/;
const clientKey = /^(?:bearer +)?(rhc_\S+)$/i;
/** The documentation's key for clients that require one: the same for all people. */
const placeholderKey = "roomhub";
const nothing: ClientIdentity = Object.freeze({ kind: "none", id: "" });

/** @param headers - lower-case names */
export function claimsOf(headers: Headers): Claims {
  const authorization = textOf(headers["authorization"]);
  const apiKey = textOf(headers["x-api-key"]);
  return {
    key: authorization ?? apiKey,
    user: textOf(headers["x-openwebui-user-name"]) ?? textOf(headers["x-openwebui-user-id"]),
    clientKey: clientKeyIn(authorization) ?? clientKeyIn(apiKey),
  };
}

/** Identifies the senders of requests. A fingerprint is computed once per value while the value is in use. */
export class Senders {
  readonly #fingerprint: (purpose: string, value: string) => string;
  readonly #addresses = new RecentValues<string>(maxRemembered);
  readonly #byKey = new RecentValues<ClientIdentity>(maxRemembered);
  readonly #byRoomKey = new RecentValues<ClientIdentity>(maxRemembered);
  readonly #byUser = new RecentValues<ClientIdentity>(maxRemembered);

  /** @param keyedHash - at least 8 hex digits that only this process can make */
  constructor(keyedHash: (purpose: string, value: string) => string) {
    this.#fingerprint = (purpose, value) => keyedHash(purpose, value).slice(0, 8);
  }

  /**
   * @param bodyUser - the user that the body names; a header takes precedence
   * @param roomKey - proves who it is: what the headers claim beside it does not count, and its holder takes turns as one,
   *   wherever that is
   */
  senderOf(
    { throttleKey, ownAddress }: Source,
    { key, user, clientKey }: Claims,
    bodyUser: string | undefined,
    roomKey: Pick<RoomKey, "id" | "name"> | undefined,
  ): Sender {
    const client = roomKey === undefined ? this.#claimed(key) : this.#holderOf(roomKey);
    const named = user ?? bodyUser;
    const identity = named === undefined ? client : this.#withUser(client, named);
    const proof = { ownAddress, clientKey, keyId: roomKey?.id };
    // A fingerprint, so that it takes turns with the same address at other hubs.
    const address = this.#addresses.of(roomKey?.id ?? throttleKey, this.#addressOf);
    return new Sender(address, identity, proof, throttleKey);
  }

  #claimed(key: string | undefined): ClientIdentity {
    return key === undefined ? nothing : this.#byKey.of(key, this.#readKey);
  }

  #holderOf({ id, name }: Pick<RoomKey, "id" | "name">): ClientIdentity {
    return this.#byRoomKey.of(id, () => Object.freeze({ kind: "holder", id: name }));
  }

  readonly #addressOf = (address: string): string => this.#fingerprint("address", address);

  readonly #readKey = (header: string): ClientIdentity => {
    const key = bearer.test(header) ? (bearer.exec(header)?.[1] ?? "") : header;
    if (key === "" || key === placeholderKey || ownCredential.test(key)) return nothing;
    const name = key.startsWith(NAME_KEY_PREFIX) ? key.slice(NAME_KEY_PREFIX.length) : "";
    return Object.freeze(
      isClientName(name)
        ? { kind: "name", id: name }
        : { kind: "key", id: this.#fingerprint("client", key) },
    );
  };

  #withUser(client: ClientIdentity, named: string): ClientIdentity {
    return this.#byUser.of(`${client.kind} ${client.id} ${named}`, () => {
      const user = this.#readUser(named);
      return user === undefined ? client : Object.freeze({ ...client, user });
    });
  }

  /** An e-mail address, for example, is not a name and is never shown. */
  #readUser(named: string): string | undefined {
    const user = named.trim();
    if (user === "" || ownCredential.test(user)) return undefined;
    return isClientName(user) ? user : this.#fingerprint("user", user);
  }
}

function clientKeyIn(header: string | undefined): string | undefined {
  return header === undefined ? undefined : clientKey.exec(header)?.[1];
}

function textOf(header: string | readonly string[] | undefined): string | undefined {
  const text = (typeof header === "object" ? header[0] : header)?.trim();
  return text === "" ? undefined : text;
}

/** With longer keys the memory would depend on what clients send. */
const maxKeyLength = 256;

/**
 * The values used last: at least `size` of them, at most twice as many. Two maps take turns, because moving an entry on
 * each use costs more than the lookup.
 */
export class RecentValues<Value> {
  readonly #size: number;
  #recent = new Map<string, Value>();
  #older = new Map<string, Value>();

  constructor(size: number) {
    this.#size = size;
  }

  get(key: string): Value | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  /** What is kept under a key, else what is made of it, which is then kept. */
  of(key: string, make: (key: string) => Value): Value {
    const kept = this.get(key);
    if (kept !== undefined) return kept;
    const made = make(key);
    this.set(key, made);
    return made;
  }

  /** Keys over 256 characters are not kept. */
  set(key: string, value: Value): void {
    if (key.length > maxKeyLength) return;
    if (this.#recent.size >= this.#size) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(key, value);
  }
}

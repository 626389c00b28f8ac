import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import type { BusMessage } from "../bus/bus-message.ts";
import { encodeKey } from "../entry-codec.ts";
import { createPace } from "../../pace.ts";

type OnMessage = (message: BusMessage) => void;

/** As for watchers: too short to notice, while a busy hub makes some hundred events of a room at once. */
const gapMs = 10;
/** UTF-16 units of JSON in one message; NATS takes 1 MiB. */
const mostLength = 128 * 1024;

/** JSON of a room's messages that are about to leave. */
interface Parcel {
  readonly texts: string[];
  length: number;
}

/**
 * Messages between hubs on core subjects, `roomhub.events.<room code as base64url>`, each a JSON array of them. What comes
 * alone leaves with its turn of the event loop, what comes often together, every 10 ms. Not acknowledged. One subscription
 * of the server per room, however many subscribers there are; the client renews them after a reconnect.
 */
export class Bus {
  readonly #prefix: string;
  readonly #onWarning: (message: string) => void;
  readonly #subjects = new Map<
    string,
    { subscribers: Set<OnMessage>; subscription: Subscription | undefined }
  >();
  readonly #later: (send: () => void) => void;
  /** by room */
  readonly #parcels = new Map<string, Parcel>();
  #connection: NatsConnection | undefined;

  /** @param nowMs - monotonic */
  constructor(prefix: string, onWarning: (message: string) => void, nowMs: () => number) {
    this.#prefix = `${prefix}.events.`;
    this.#onWarning = onWarning;
    this.#later = createPace(gapMs, nowMs);
  }

  /** Subscriptions made before begin now. */
  connected(connection: NatsConnection): void {
    this.#connection = connection;
    for (const subject of this.#subjects.keys()) this.#listen(subject);
  }

  publish(roomCode: string, message: BusMessage): void {
    if (this.#connection === undefined) return;
    // As it is now: what it shows goes on changing.
    const text = JSON.stringify(message);
    const isFirst = this.#parcels.size === 0;
    const parcel = this.#parcels.get(roomCode);
    if (parcel === undefined) this.#parcels.set(roomCode, { texts: [text], length: text.length });
    else {
      if (parcel.length + text.length > mostLength) this.#send(roomCode, parcel);
      parcel.texts.push(text);
      parcel.length += text.length;
    }
    if (isFirst) this.#later(() => this.#flush());
  }

  subscribe(roomCode: string | undefined, onMessage: OnMessage): () => void {
    const subject = this.#prefix + (roomCode === undefined ? "*" : encodeKey(roomCode));
    let entry = this.#subjects.get(subject);
    if (entry === undefined) {
      entry = { subscribers: new Set(), subscription: undefined };
      this.#subjects.set(subject, entry);
      this.#listen(subject);
    }
    const { subscribers } = entry;
    // One function may subscribe twice.
    const own: OnMessage = (message) => onMessage(message);
    subscribers.add(own);
    return () => {
      subscribers.delete(own);
      const current = this.#subjects.get(subject);
      if (subscribers.size > 0 || current?.subscribers !== subscribers) return;
      this.#subjects.delete(subject);
      current.subscription?.unsubscribe();
    };
  }

  /** Resolves when the server has taken in the subscriptions made so far. */
  async subscribed(): Promise<void> {
    await this.#connection?.flush();
  }

  /** What waits would be old when the connection is back. */
  drop(): void {
    this.#parcels.clear();
  }

  close(): void {
    this.#flush();
    this.#connection = undefined;
    this.#subjects.clear();
  }

  #flush(): void {
    for (const [roomCode, parcel] of this.#parcels) this.#send(roomCode, parcel);
    this.#parcels.clear();
  }

  #send(roomCode: string, parcel: Parcel): void {
    const subject = this.#prefix + encodeKey(roomCode);
    this.#connection?.publish(subject, `[${parcel.texts.join(",")}]`);
    parcel.texts.length = 0;
    parcel.length = 0;
  }

  #listen(subject: string): void {
    const entry = this.#subjects.get(subject);
    if (entry === undefined || this.#connection === undefined) return;
    entry.subscription = this.#connection.subscribe(subject, {
      callback: (error, message) => {
        if (error !== null) {
          this.#onWarning(`Events of other hubs cannot be received: ${error.message}.`);
          return;
        }
        for (const read of readMessages(message.string())) {
          for (const subscriber of [...entry.subscribers]) subscriber(read);
        }
      },
    });
  }
}

/** Without what no hub of this version sends. */
function readMessages(text: string): BusMessage[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [];
  }
  return Array.isArray(value) ? value.filter(isMessage) : [];
}

function isMessage(value: unknown): value is BusMessage {
  const { origin, sequence, name, payload } = (value ?? {}) as Partial<BusMessage>;
  return (
    typeof origin === "string" &&
    typeof sequence === "number" &&
    typeof name === "string" &&
    typeof payload === "object" &&
    payload !== null
  );
}

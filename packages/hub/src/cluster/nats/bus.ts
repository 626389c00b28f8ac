import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import type { BusMessage } from "../bus-message.ts";
import { encodeKey } from "../entry-codec.ts";

type OnMessage = (message: BusMessage) => void;

/**
 * Messages between hubs on core subjects, `roomhub.events.<room code as base64url>`. Not acknowledged. One subscription of
 * the server per room, however many subscribers there are; the client renews them after a reconnect.
 */
export class Bus {
  readonly #prefix: string;
  readonly #onWarning: (message: string) => void;
  readonly #subjects = new Map<
    string,
    { subscribers: Set<OnMessage>; subscription: Subscription | undefined }
  >();
  #connection: NatsConnection | undefined;

  constructor(prefix: string, onWarning: (message: string) => void) {
    this.#prefix = `${prefix}.events.`;
    this.#onWarning = onWarning;
  }

  /** Subscriptions made before begin now. */
  connected(connection: NatsConnection): void {
    this.#connection = connection;
    for (const subject of this.#subjects.keys()) this.#listen(subject);
  }

  publish(roomCode: string, message: BusMessage): void {
    this.#connection?.publish(this.#prefix + encodeKey(roomCode), JSON.stringify(message));
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

  close(): void {
    this.#connection = undefined;
    this.#subjects.clear();
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
        const read = readMessage(message.string());
        if (read === undefined) return;
        for (const subscriber of [...entry.subscribers]) subscriber(read);
      },
    });
  }
}

/** undefined for what no hub of this version sends */
function readMessage(text: string): BusMessage | undefined {
  let value: Partial<BusMessage> | null;
  try {
    value = JSON.parse(text) as Partial<BusMessage> | null;
  } catch {
    return undefined;
  }
  const isMessage =
    typeof value?.origin === "string" &&
    typeof value.sequence === "number" &&
    typeof value.name === "string" &&
    typeof value.payload === "object" &&
    value.payload !== null;
  return isMessage ? (value as BusMessage) : undefined;
}

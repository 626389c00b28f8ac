import {
  type DetailEventName,
  encodeSseEvent,
  type EventName,
  type EventSpelling,
  type HubEvent,
  spellEventName,
} from "@roomhub/protocol";

/**
 * One event without its number. Each form is made when it is first needed, and what is equal for all subscribers is made
 * once.
 */
export class Occurrence {
  readonly #roomCode: string;
  readonly #name: EventName | DetailEventName;
  readonly #timestamp: string;
  readonly #payload: object;
  /** JSON without the opening brace and the type */
  #fields: string | undefined;

  /** @param payload - the payload that belongs to the name */
  constructor(
    roomCode: string,
    name: EventName | DetailEventName,
    timestamp: string,
    payload: object,
  ) {
    this.#roomCode = roomCode;
    this.#name = name;
    this.#timestamp = timestamp;
    this.#payload = payload;
  }

  /** The same for other hubs, whose watchers of all rooms do not get it. */
  hidden(): Occurrence {
    const payload = { ...this.#payload, isHidden: true };
    return new Occurrence(this.#roomCode, this.#name, this.#timestamp, payload);
  }

  value(): HubEvent {
    const [type, timestamp, roomCode] = [this.#name, this.#timestamp, this.#roomCode];
    // The payload belongs to the name, but the compiler sees two unions. Listeners get no detail.
    return { type, timestamp, roomCode, ...this.#payload } as unknown as HubEvent;
  }

  /** @param id - for this audience; undefined for detail, which is not counted */
  wire(spelling: EventSpelling, id: string | undefined): string {
    const spelled = spellEventName(this.#name, spelling);
    this.#fields ??= this.#encodeFields();
    return encodeSseEvent(id, spelled, `{"type":"${spelled}",${this.#fields}`);
  }

  /** Nothing in a timestamp or a room's code needs escaping. */
  #encodeFields(): string {
    const members = JSON.stringify(this.#payload).slice(1);
    const comma = members === "}" ? "" : ",";
    return `"timestamp":"${this.#timestamp}","roomCode":"${this.#roomCode}"${comma}${members}`;
  }
}

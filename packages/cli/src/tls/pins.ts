import {
  type Fetch,
  InvalidHubUrlError,
  normaliseHubUrl,
  pinIn,
  pinnedFetch,
  pinnedHostOf,
} from "@roomhub/client";
import { withPin } from "@roomhub/protocol";
import type { CliContext, OutsideContext } from "../context.ts";
import { reasonOf, safe } from "../terminal/text.ts";

/** What a saved pin belongs to: a hub has one. */
const own = "pin";

interface Pinned {
  pin: string;
  send: Fetch;
  /** of the invite that this command was given; saved once the hub has shown that it has the key */
  isNew: boolean;
}

/**
 * The keys of hubs: of the invites that this command was given, and of earlier ones. Commands know nothing of them: every
 * request passes {@link Pins.fetch}, which sends it to a hub with a known key only over a connection that proves the key.
 */
export class Pins {
  readonly #context: OutsideContext;
  /** by host and port */
  readonly #pins = new Map<string, Pinned>();
  #saved: Promise<void> | undefined;

  constructor(context: OutsideContext) {
    this.#context = context;
  }

  /** @param texts - arguments; some may be invites @throws InvalidHubUrlError for an incomplete pin */
  takeFrom(texts: readonly string[]): void {
    // A text with a space may be a prompt that mentions an invite.
    for (const text of texts.filter((each) => !/\s/.test(each))) {
      const pin = pinIn(text);
      if (pin !== undefined) this.#set(pinnedHostOf(hubUrlIn(text)), pin, true);
    }
  }

  require(url: string, pin: string): void {
    this.#set(pinnedHostOf(url), pin, false);
  }

  /** As {@link of}, after a first call of it. */
  now(url: string): string | undefined {
    return this.#pins.get(pinnedHostOf(url))?.pin;
  }

  async of(url: string): Promise<string | undefined> {
    return (await this.#find(url))?.pin;
  }

  /** A hub's URL with its pin, if that is known. */
  async withPin(hubUrl: string): Promise<string> {
    return withPin(hubUrl, await this.of(hubUrl));
  }

  /** Sends a request to a hub whose key is known over a connection that proves it. */
  readonly fetch: Fetch = async (url, init) => {
    const pinned = await this.#find(url);
    if (pinned === undefined) return this.#context.fetch(url, init);
    const response = await pinned.send(url, init);
    if (pinned.isNew) {
      pinned.isNew = false;
      await this.#keep(pinnedHostOf(url), pinned.pin);
    }
    return response;
  };

  async #find(url: string): Promise<Pinned | undefined> {
    this.#saved ??= this.#load();
    await this.#saved;
    return this.#pins.get(pinnedHostOf(url));
  }

  async #load(): Promise<void> {
    for (const { host, pin } of await savedPins(this.#context))
      if (!this.#pins.has(host)) this.#set(host, pin, false);
  }

  #set(host: string, pin: string, isNew: boolean): void {
    this.#pins.set(host, { pin, send: pinnedFetch(pin), isNew });
  }

  async #keep(host: string, pin: string): Promise<void> {
    try {
      const tokens = await this.#context.savedTokens("pins");
      const place = { hubUrl: host, room: "", id: own };
      const before = await tokens.tokenOf(place);
      if (before === pin) return;
      await tokens.save({ ...place, token: pin });
      if (before === undefined) return;
      this.#context.stderr.write(
        `The invite replaces the key of ${safe(host)}: ${safe(before)} before, ${pin} now\n`,
      );
    } catch (error) {
      this.#context.stderr.write(
        `! The key of ${safe(host)} could not be saved: ${safe(reasonOf(error))}\n`,
      );
    }
  }
}

/** @throws InvalidHubUrlError when there is no hub that the pin could belong to */
function hubUrlIn(text: string): string {
  const named = text.replace(/^--[\w-]+=/, "");
  if (/^[^/.:]+#/.test(named))
    throw new InvalidHubUrlError("A pin belongs to the URL of a hub; give the whole invite");
  return normaliseHubUrl(named);
}

/** @throws Error when they cannot be read: a connection would not be as safe as it was */
export async function savedPins(
  context: Pick<CliContext, "savedTokens">,
): Promise<{ host: string; pin: string }[]> {
  const saved = await (await context.savedTokens("pins")).find(own);
  return saved.map(({ hubUrl: host, token: pin }) => ({ host, pin }));
}

export async function forgetPin(
  context: Pick<CliContext, "savedTokens">,
  host: string,
): Promise<void> {
  await (await context.savedTokens("pins")).forget({ hubUrl: host, room: "", id: own });
}

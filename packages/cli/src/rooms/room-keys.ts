import { type Fetch, type Invite, keyInLink } from "@roomhub/client";
import { isKeyValue, normaliseRoomCode } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { readable, UsageError } from "../exit-code.ts";
import { reasonOf } from "../terminal/text.ts";

type KeysOfCommand = CliContext["roomKeys"];

/** What the saved key belongs to: this user has one for a room. */
const own = "key";

/**
 * The keys with which this command enters closed rooms. Commands know nothing of them: every request to a room of a hub
 * passes {@link RoomKeys.fetch}, which adds the key, and asks for it where the hub refuses the request without one.
 */
export class RoomKeys implements KeysOfCommand {
  readonly #context: Omit<CliContext, "roomKeys">;
  /** the URLs of hubs, no other server gets a key */
  readonly #hubUrls = new Set<string>();
  /** by URL of a room */
  readonly #saved = new Map<string, Promise<string | undefined>>();
  readonly #asking = new Map<string, Promise<string | undefined>>();
  #given: string | undefined;
  #canAsk = false;

  constructor(context: Omit<CliContext, "roomKeys">) {
    this.#context = context;
  }

  /** Takes the keys out of links among the arguments, where others can read them. @returns the arguments without */
  takeFromLinks(args: readonly string[]): string[] {
    return args.map((arg) => {
      const key = keyInLink(arg);
      if (key === undefined) return arg;
      this.#given = key;
      this.#context.stderr.write(
        "! The key in this link is now in your shell's history, and visible in `ps`. Leave out #key=… next time: the command asks for the key\n",
      );
      return arg.replace(/#.*$/s, "");
    });
  }

  async prepare(keyFile: string | undefined, canAsk: boolean): Promise<void> {
    this.#canAsk = canAsk;
    if (keyFile !== undefined) this.#given = await this.#readKey(keyFile);
    const variable = this.#context.env["ROOMHUB_KEY"] ?? "";
    if (this.#given !== undefined || variable === "") return;
    if (!isKeyValue(variable)) throw new UsageError(`ROOMHUB_KEY is not a key: ${formOfKey}`);
    this.#given = variable;
  }

  get given(): string | undefined {
    return this.#given;
  }

  stopAsking(): void {
    this.#canAsk = false;
  }

  get isAsking(): boolean {
    return this.#asking.size > 0;
  }

  async of({ hubUrl, room }: Invite): Promise<string | undefined> {
    if (this.#given !== undefined) return this.#given;
    const url = `${hubUrl}/rooms/${normaliseRoomCode(room)}`;
    let saved = this.#saved.get(url);
    if (saved === undefined) {
      const place = { hubUrl, room: normaliseRoomCode(room), id: own };
      // An unreadable folder counts as no key: the hub then asks for one.
      saved = this.#context
        .savedTokens("keys")
        .then((tokens) => tokens.tokenOf(place))
        .catch(() => undefined);
      this.#saved.set(url, saved);
    }
    return saved;
  }

  async save({ hubUrl, room }: Invite, key: string): Promise<void> {
    this.#saved.set(`${hubUrl}/rooms/${room}`, Promise.resolve(key));
    try {
      const tokens = await this.#context.savedTokens("keys");
      await tokens.save({ hubUrl, room, id: own, token: key });
    } catch (error) {
      this.#context.stderr.write(
        `! The key of room ${room} could not be saved: ${reasonOf(error)}\n`,
      );
    }
  }

  async forget({ hubUrl, room }: Invite): Promise<void> {
    this.#saved.delete(`${hubUrl}/rooms/${room}`);
    await (await this.#context.savedTokens("keys")).forget({ hubUrl, room, id: own });
  }

  /** @param hubUrl - normalised; its rooms get their keys */
  addHub(hubUrl: string): void {
    this.#hubUrls.add(hubUrl);
  }

  /** Sends the room's key with a request to a room, in a header of its own: `Authorization` may name the client. */
  readonly fetch: Fetch = async (url, init) => {
    const send = this.#context.fetch;
    const room = this.#roomOf(url);
    if (room === undefined || isByHost(init)) return send(url, init);
    let key = await this.of(room);
    for (;;) {
      const response = await send(url, key === undefined ? init : withKey(init, key));
      if (!needsKey(response)) return response;
      const other = await this.#otherKey(room, key);
      if (other === undefined) return response;
      await response.body?.cancel();
      key = other;
      // The deadline of the call may have passed while the person looked for the key.
      if (init.signal?.aborted === true) init = { ...init, signal: null };
    }
  };

  #roomOf(url: string): Invite | undefined {
    for (const hubUrl of this.#hubUrls) {
      if (!url.startsWith(`${hubUrl}/`)) continue;
      const room = /^\/(?:v1\/)?rooms\/([A-Za-z0-9]{1,32})(?:[/?]|$)/.exec(
        url.slice(hubUrl.length),
      )?.[1];
      if (room !== undefined) return { hubUrl, room: normaliseRoomCode(room) };
    }
    return undefined;
  }

  /** A key other than the refused one: another request may have asked for it meanwhile. */
  async #otherKey(room: Invite, refused: string | undefined): Promise<string | undefined> {
    const known = await this.of(room);
    if (known !== refused) return known;
    if (this.#given !== undefined || !this.#canAsk) return undefined;
    const url = `${room.hubUrl}/rooms/${room.room}`;
    let asking = this.#asking.get(url);
    if (asking === undefined) {
      asking = this.#ask(room, refused !== undefined).finally(() => this.#asking.delete(url));
      this.#asking.set(url, asking);
    }
    return asking;
  }

  async #ask(room: Invite, isRefused: boolean): Promise<string | undefined> {
    const { prompts, stderr } = this.#context;
    if (isRefused) stderr.write(`! Room ${room.room} refuses this key\n`);
    try {
      let text = await prompts.askSecret(`Key of room ${room.room} (its host has it)`);
      while (!isKeyValue(keyIn(text))) {
        stderr.write(`! This is no key: ${formOfKey}\n`);
        text = await prompts.askSecret(`Key of room ${room.room}`);
      }
      const key = keyIn(text);
      await this.save(room, key);
      return key;
    } catch {
      // Cancelled: the command ends with what the hub said.
      this.#canAsk = false;
      return undefined;
    }
  }

  async #readKey(path: string): Promise<string> {
    const reading = path === "-" ? this.#context.readStdin() : this.#context.readFile(path);
    const key = keyIn(await readable(`The key file ${path}`, reading));
    if (isKeyValue(key)) return key;
    throw new UsageError(`The key file ${path} has no key in its first line: ${formOfKey}`);
  }
}

/** The key of a room, for programs that are started with it; undefined in an open room, where any text is one. */
export async function closedRoomKey(
  context: CliContext,
  { hubUrl, room }: Invite,
): Promise<string | undefined> {
  const key = await context.roomKeys.of({ hubUrl, room });
  if (key === undefined) return undefined;
  const { closed } = await context.createClient(hubUrl).getRoom(room);
  return closed === true ? key : undefined;
}

const formOfKey = "a key is rhk_ and 43 characters";

/** A person may paste the whole link. */
function keyIn(text: string): string {
  return keyInLink(text) ?? text.trim().split(/\r?\n/, 1)[0] ?? "";
}

/** Host and operator need no key. */
function isByHost({ headers }: RequestInit): boolean {
  const given = new Headers(headers);
  return given.has("x-host-token") || given.has("x-roomhub-admin");
}

function withKey(init: RequestInit, key: string): RequestInit {
  const headers = new Headers(init.headers);
  headers.set("x-api-key", key);
  return { ...init, headers };
}

/** Whether the hub refused the request for its key, in the way that a closed room does. Contract §9. */
function needsKey({ status, headers }: Response): boolean {
  return status === 401 && headers.get("www-authenticate")?.includes('realm="roomhub"') === true;
}

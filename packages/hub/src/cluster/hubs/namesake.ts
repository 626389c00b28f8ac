import type { Log } from "../../log.ts";
import type { HubPresence, HubUrls } from "./hub-presence.ts";
import { SILENCE_MS } from "./hubs.ts";

/** Another process runs under the id of this hub, which therefore does not start. */
export class HubIdTaken extends Error {
  override readonly name = "HubIdTaken";

  constructor(own: HubUrls, other: HubPresence) {
    const since = new Date(other.startedAt).toISOString();
    super(
      `A hub running since ${since} has the id of this one: it is reached at ${placesOf(other)}, this one at ${placesOf(own)}.`,
    );
  }
}

function placesOf({ advertiseUrl, linkUrl }: HubUrls): string {
  return linkUrl === advertiseUrl ? advertiseUrl : `${advertiseUrl} (by other hubs at ${linkUrl})`;
}

/** While another hub has this one's id, that is repeated this often. */
const repeatMs = 10 * 60_000;

/**
 * Another hub that runs under the id of this one: both started at the same moment, or could not hear each other. Reads no
 * clock.
 */
export class Namesake {
  readonly #log: Pick<Log, "warn">;
  #heardMs = Number.NEGATIVE_INFINITY;
  #saidMs = Number.NEGATIVE_INFINITY;

  constructor(log: Pick<Log, "warn">) {
    this.#log = log;
  }

  /** Without the warning requests would get to the wrong one of the two, now and then, for no visible reason. */
  heard({ hubId, linkUrl: url, startedAt }: HubPresence, nowMs: number): void {
    this.#heardMs = nowMs;
    if (nowMs - this.#saidMs < repeatMs) return;
    this.#saidMs = nowMs;
    this.#log.warn(
      "another hub has the id of this one, because both are reached at the same URL: requests and participants " +
        "get to the wrong one of them. Stop one, or give each an --advertise URL of its own",
      { hubId, url, otherStartedAt: new Date(startedAt).toISOString() },
    );
  }

  /** What is shown beside this hub. */
  problem(nowMs: number): string | undefined {
    if (nowMs - this.#heardMs > SILENCE_MS) return undefined;
    return "another hub has the same id: give each an --advertise URL of its own";
  }
}

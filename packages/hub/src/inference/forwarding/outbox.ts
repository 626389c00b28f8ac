import type { NoticeItem } from "./notices.ts";
import type { Later, PeerLinks } from "./peers.ts";

const gatherMs = 25;
/** The longest items are far below a fortieth of the 64 KiB that a notice may have. */
const mostPerNotice = 40;
/** For each hub and moment: a link drops notices while a megabyte is unread. */
const mostNotices = 10;
/** For one hub: what is beyond is lost, as with a link that is down. */
const mostWaiting = 100_000;

/** Gathers what is not urgent for a moment, so that each hub gets it in few notices. */
export class Outbox {
  readonly #links: PeerLinks;
  readonly #later: Later;
  readonly #waiting = new Map<string, NoticeItem[]>();
  #isScheduled = false;

  constructor(links: PeerLinks, later: Later) {
    this.#links = links;
    this.#later = later;
  }

  sendAll(item: NoticeItem): void {
    for (const hubId of this.#links.openHubIds()) this.send(hubId, item);
  }

  send(hubId: string, item: NoticeItem): void {
    const waiting = this.#waiting.get(hubId);
    if (waiting === undefined) this.#waiting.set(hubId, [item]);
    else if (waiting.length < mostWaiting) waiting.push(item);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#later(gatherMs, () => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    for (const [hubId, items] of this.#waiting) {
      const now = items.splice(0, mostNotices * mostPerNotice);
      for (let at = 0; at < now.length; at += mostPerNotice) {
        this.#links.notify(hubId, { kind: "batch", items: now.slice(at, at + mostPerNotice) });
      }
      if (items.length === 0) this.#waiting.delete(hubId);
    }
    if (this.#waiting.size > 0) this.#schedule();
  }
}

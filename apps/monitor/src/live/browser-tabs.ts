import type { TabMessage, Tabs } from "./shared-source.ts";

/**
 * The tabs of this browser that show the same room.
 *
 * @returns undefined where a page may not know of others: over plain http from another machine, browsers have no locks
 */
export function browserTabs(name: string): Tabs | undefined {
  const locks = "locks" in navigator ? navigator.locks : undefined;
  if (locks === undefined || typeof BroadcastChannel === "undefined") return undefined;
  return {
    open(onMessage) {
      const channel = new BroadcastChannel(name);
      channel.onmessage = ({ data }: MessageEvent<TabMessage>) => onMessage(data);
      return {
        post: (message) => channel.postMessage(message),
        close: () => channel.close(),
      };
    },
    lead: (signal) =>
      new Promise((resolve) => {
        const held = (): Promise<void> => new Promise((release) => resolve(release));
        // Rejects when the signal aborts while another tab leads: this one no longer waits.
        locks.request(name, { signal }, held).catch(() => undefined);
      }),
  };
}

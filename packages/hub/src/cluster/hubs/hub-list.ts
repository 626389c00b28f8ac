import type { HubEntry } from "@roomhub/protocol";
import type { HubPresence } from "./hub-presence.ts";
import { type Namesakes, sharedIdProblem } from "./namesakes.ts";

export interface HubListSources {
  own: Omit<HubEntry, "link" | "problem">;
  others: readonly HubPresence[];
  links: {
    isOpen: (hubId: string) => boolean;
    problemOf: (hubId: string) => string | undefined;
  };
  namesakes: Pick<Namesakes, "isShared">;
}

/** The hubs of the cluster as they are listed: this one first, the others by id. */
export function hubList({ own, others, links, namesakes }: HubListSources): HubEntry[] {
  const problem = (hubId: string, other?: string) => {
    const found = namesakes.isShared(hubId) ? sharedIdProblem : other;
    return found === undefined ? {} : { problem: found };
  };
  return [
    { ...own, link: "self", ...problem(own.hubId) },
    ...others.map((presence): HubEntry => {
      const { hubId, bootId, advertiseUrl, version, participants, isDraining } = presence;
      const isOpen = links.isOpen(hubId);
      return {
        ...{ hubId, bootId, url: advertiseUrl, version, participants },
        ...{ link: isOpen ? "open" : "down", isDraining },
        ...problem(hubId, isOpen ? undefined : links.problemOf(hubId)),
      };
    }),
  ];
}

/** Where the hubs of the cluster take participants, this one first. At most 16. */
export function advertisedUrls(own: string | undefined, others: readonly HubPresence[]): string[] {
  const welcoming = others.filter(({ isDraining }) => !isDraining);
  const all = new Set([own ?? "", ...welcoming.map(({ advertiseUrl }) => advertiseUrl)]);
  all.delete("");
  return [...all].slice(0, 16);
}

import type { HubPresence } from "./hubs/hub-presence.ts";

/** Which other hub has a tunnel's session, and how an agent that came here gets there. */
type SessionPlace =
  /** a worker of the same port: this hub passes the connection on to its own port on 127.0.0.1 */
  | { kind: "sibling"; port: number }
  /** the agent dials that hub itself */
  | { kind: "elsewhere"; advertiseUrl: string };

/**
 * @param name - of the session; begins with the id of its hub, see `ResumableSessions`
 * @param hubs - that are alive, without this one
 * @returns undefined for one that no other hub has
 */
export function sessionPlace(
  name: string | undefined,
  hubs: readonly Pick<HubPresence, "hubId" | "advertiseUrl" | "linkUrl">[],
): SessionPlace | undefined {
  if (name === undefined) return undefined;
  const hub = hubs.find(({ hubId }) => name.startsWith(`${hubId}-`));
  if (hub === undefined) return undefined;
  const { advertiseUrl, linkUrl } = hub;
  if (advertiseUrl !== "") return { kind: "elsewhere", advertiseUrl };
  const link = URL.canParse(linkUrl) ? new URL(linkUrl) : undefined;
  if (link?.hostname !== "127.0.0.1") return undefined;
  return { kind: "sibling", port: Number(link.port) };
}

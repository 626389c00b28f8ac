import { type Invite, parseInvite } from "@roomhub/client";

/** What the page shows, or what keeps it from showing it. */
export type Address =
  | ({ kind: "room" } & Invite)
  /** The link names no room. */
  | { kind: "none" }
  | { kind: "invalid"; message: string }
  /** A page from https may not call a hub at http. */
  | ({ kind: "mixed-content" } & Invite);

/**
 * Reads `?hub=…&room=…`; `room` may be an invite URL, which names its hub too.
 *
 * @param pageUrl - the page's own URL, query included
 */
export function readAddress(pageUrl: string): Address {
  const page = new URL(pageUrl);
  const room = page.searchParams.get("room") ?? "";
  if (room === "") return { kind: "none" };
  let invite: Invite;
  try {
    invite = parseInvite(room, page.searchParams.get("hub") ?? "http://127.0.0.1:5050");
  } catch (error) {
    return { kind: "invalid", message: error instanceof Error ? error.message : String(error) };
  }
  const isMixed = page.protocol === "https:" && isPlainRemote(new URL(invite.hubUrl));
  return { kind: isMixed ? "mixed-content" : "room", ...invite };
}

/** Browsers allow plain http to the machine itself: https://w3c.github.io/webappsec-mixed-content/#categories */
function isPlainRemote({ protocol, hostname }: URL): boolean {
  if (protocol !== "http:") return false;
  return !/^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

import { type Invite, parseInvite } from "@roomhub/client";

/** What the page shows, or what keeps it from showing it. */
export type Address =
  | ({ kind: "room" } & Invite)
  /** The link names no room. */
  | { kind: "none"; hubUrl: string }
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
  const hubUrl = page.searchParams.get("hub") || usualHub(page);
  if (room === "") return { kind: "none", hubUrl };
  let invite: Invite;
  try {
    invite = parseInvite(room, hubUrl);
  } catch (error) {
    return { kind: "invalid", message: error instanceof Error ? error.message : String(error) };
  }
  const isMixed = page.protocol === "https:" && isPlainRemote(new URL(invite.hubUrl));
  return { kind: isMixed ? "mixed-content" : "room", ...invite };
}

/** A hub hands out the page at `/monitor/`; elsewhere it is the hub of the same machine. */
function usualHub(page: URL): string {
  const isHandedOut = page.pathname.endsWith("/monitor/");
  return isHandedOut ? page.href.replace(/\/monitor\/(?:[?#].*)?$/, "") : "http://127.0.0.1:5050";
}

/** Browsers allow plain http to the machine itself: https://w3c.github.io/webappsec-mixed-content/#categories */
function isPlainRemote({ protocol, hostname }: URL): boolean {
  if (protocol !== "http:") return false;
  return !/^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

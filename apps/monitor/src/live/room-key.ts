import { type Invite, keyInLink } from "@roomhub/client";

/** The part of the browser that has to do with keys. */
interface Browser {
  location: Pick<Location, "href" | "pathname" | "search">;
  history: Pick<History, "replaceState">;
  /** Throws where the browser forbids storage. */
  storage: () => Pick<Storage, "getItem" | "setItem">;
}

/**
 * The key of a closed room: taken out of the page's address, which history and others at the screen would show, else the one
 * of this session. Nothing outlives the tab.
 */
export function takeKey({ location, history, storage }: Browser, room: Invite): string | undefined {
  const key = keyInLink(location.href);
  if (key === undefined) {
    try {
      return storage().getItem(nameOf(room)) ?? undefined;
    } catch {
      return undefined;
    }
  }
  history.replaceState(null, "", location.pathname + location.search);
  keepKey(storage, room, key);
  return key;
}

/** For the session of this tab. */
export function keepKey(storage: Browser["storage"], room: Invite, key: string): void {
  try {
    storage().setItem(nameOf(room), key);
  } catch {
    // The page then asks again after it was reloaded.
  }
}

function nameOf({ hubUrl, room }: Invite): string {
  return `roomhub.key ${hubUrl} ${room}`;
}

import { expect, test } from "vitest";
import { keepKey, takeKey } from "./room-key.ts";

const key = `rhk_${"k".repeat(43)}`;
const room = { hubUrl: "http://hub", room: "ABC234" };

function makeBrowser(hash: string) {
  const kept = new Map<string, string>();
  const addresses: unknown[] = [];
  const browser = {
    location: {
      href: `http://hub/monitor/?room=ABC234${hash}`,
      pathname: "/monitor/",
      search: "?room=ABC234",
    },
    history: {
      replaceState: (_data: unknown, _title: string, url?: string | URL | null) =>
        void addresses.push(url),
    },
    storage: () => ({
      getItem: (name: string) => kept.get(name) ?? null,
      setItem: (name: string, value: string) => void kept.set(name, value),
    }),
  };
  return { browser, kept, addresses };
}

test("the key in the address is taken out of it, and kept for the session", () => {
  const { browser, addresses } = makeBrowser(`#key=${key}`);
  expect(takeKey(browser, room)).toBe(key);
  expect(addresses).toEqual(["/monitor/?room=ABC234"]);
  const reloaded = { ...browser, location: { ...browser.location, href: "http://hub/monitor/" } };
  expect(takeKey(reloaded, room)).toBe(key);
  expect(takeKey(reloaded, { ...room, room: "XYZ789" })).toBeUndefined();
});

test("another fragment stays, and a browser without storage forgets the key", () => {
  const { browser, addresses } = makeBrowser("#try");
  const storage = () => {
    throw new Error("SecurityError");
  };
  expect(takeKey({ ...browser, storage }, room)).toBeUndefined();
  keepKey(storage, room, key);
  expect(addresses).toEqual([]);
});

import { array, assert, constantFrom, property } from "fast-check";
import { expect, test } from "vitest";
import { KnownHubs } from "./known-hubs.ts";

const [one, two, three] = ["http://h1:5050", "http://h2:5050", "http://h3:5050"];

function knownTo(home: string, hubs: string[], random = 0): KnownHubs {
  const known = new KnownHubs(home, { random: () => random });
  known.learn(home, hubs);
  return known;
}

function tried(known: KnownHubs, count: number): string[] {
  return Array.from({ length: count }, () => known.next());
}

test("a hub that is alone has no others", () => {
  expect(knownTo(one, []).hasOthers).toBe(false);
  expect(knownTo(one, [one]).hasOthers).toBe(false);
  expect(knownTo(one, []).next()).toBe(one);
});

test("the others are tried first, then where the user pointed, last the one that was lost, and so on", () => {
  const known = knownTo("http://hubs.example", [one, two, three]);
  expect(known.hasOthers).toBe(true);
  const round = [two, three, "http://hubs.example", one];
  expect(tried(known, 6)).toEqual([...round, two, three]);
});

test("participants of a lost hub do not all go to the same one", () => {
  expect(knownTo(one, [one, two, three], 0.9).next()).toBe(three);
});

test("a token that was issued over TLS is never sent without", () => {
  const known = knownTo("https://h1", ["https://h1", "http://h2", "https://h3/"]);
  expect(tried(known, 4)).toEqual(["https://h3", "https://h1", "https://h3", "https://h1"]);
  const plain = knownTo("http://h1", ["http://h1", "https://h2"]);
  expect(plain.next()).toBe("https://h2");
});

test("a tunnel is followed to a hub that is known, and nowhere else", () => {
  const known = knownTo(one, [one, two]);
  const path = "/v1/rooms/ABC234/participants/ana/tunnel";
  expect(known.tunnelUrl({ url: `ws://h2:5050${path}` })?.href).toBe(`ws://h2:5050${path}`);
  for (const url of [
    `ws://h3:5050${path}`,
    `ws://h2:5051${path}`,
    `wss://h2:5050${path}`,
    `ws://h2:5050.evil.example${path}`,
    `ws://h1:5050@evil.example${path}`,
    `ws://ana:secret@h2:5050${path}`,
    ...["http://h2:5050", path, "ws://", "file:///x", ""],
  ])
    expect(known.tunnelUrl({ url })).toBeUndefined();
  expect(knownTo(one, []).tunnelUrl({ url: `ws://h2:5050${path}` })).toBeUndefined();
});

test("a tunnel behind TLS is followed with TLS", () => {
  const known = knownTo("https://h1", ["https://h1", "https://h2:8443/hub"]);
  expect(known.tunnelUrl({ url: "wss://h2:8443/hub/v1/t" })?.href).toBe("wss://h2:8443/hub/v1/t");
  expect(known.tunnelUrl({ url: "wss://h2:8443/other/v1/t" })).toBeUndefined();
  expect(known.tunnelUrl({ url: "ws://h1:5050/v1/t" })?.href).toBe("wss://h1/v1/t");
});

test("a hub keeps its pin, and a tunnel there has it, or the one that is announced for a hub without", () => {
  const [ofOne, ofTwo] = ["a", "b"].map((letter) => `sha256-${letter.repeat(43)}`);
  const hubs = [`http://h1:5050#pin=${ofOne}`, `https://h2:5050/hub#pin=${ofTwo}`, "https://h3"];
  const known = knownTo(`https://h1:5050#pin=${ofOne}`, hubs);
  const [first, second] = [`https://h1:5050#pin=${ofOne}`, hubs[1]];
  expect(tried(known, 3)).toEqual([second, "https://h3", first]);
  const at = (url: string, pin?: string) => known.tunnelUrl({ url, pin })?.href;
  expect(at("wss://h2:5050/hub/v1/t")).toBe(`wss://h2:5050/hub/v1/t#pin=${ofTwo}`);
  expect(at("wss://h2:5050/hub/v1/t", ofOne)).toBe(`wss://h2:5050/hub/v1/t#pin=${ofTwo}`);
  expect(at("wss://h3/v1/t", ofOne)).toBe(`wss://h3/v1/t#pin=${ofOne}`);
  expect(at("wss://h3/v1/t")).toBe("wss://h3/v1/t");
  expect(at("wss://h4/v1/t", ofOne)).toBeUndefined();
});

test("a hub whose pin is cut short is not tried: nothing may go there without", () => {
  expect(knownTo(one, [one, "https://h2#pin=sha256-abc"]).hasOthers).toBe(false);
});

test("at most 16 are remembered, and what is no URL of a hub is not", () => {
  const many = Array.from({ length: 40 }, (_, n) => `http://h${n}`);
  const known = knownTo("http://h0", many);
  expect(new Set(tried(known, 100)).size).toBe(16);
  expect(knownTo("http://h0", ["http://h0", "nonsense:", "ws://h1", ""]).hasOthers).toBe(false);
});

test("whatever the hubs are, a weaker scheme is never tried after a join over TLS", () => {
  const hub = constantFrom("https://a", "http://b", "https://c", "http://a", "%", "ftp://x");
  assert(
    property(array(hub, { maxLength: 30 }), (hubs) => {
      const known = knownTo("https://home", hubs);
      for (const url of tried(known, 40)) expect(url).toMatch(/^https:/);
    }),
  );
});

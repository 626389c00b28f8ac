import { createServer } from "node:https";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createHash, X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { capture, makeWorld } from "../test-context.fixture.ts";
import { Pins } from "./pins.ts";
import { newCertificate } from "./own-certificate.ts";

const pair = newCertificate([]);
const pin = pinOf(pair.cert);
const other = pinOf(newCertificate([]).cert);
const health = { status: "ok", version: "1.2.3", uptimeSeconds: 1, timestamp: "now" };

function pinOf(cert: string): string {
  const key = new X509Certificate(cert).publicKey.export({ type: "spki", format: "der" });
  return `sha256-${createHash("sha256").update(key).digest("base64url")}`;
}

/** A hub that answers `health` over TLS, and a machine whose commands reach it. */
async function startHub() {
  const paths: string[] = [];
  const server = createServer(pair, (request, response) => {
    paths.push(request.url ?? "");
    response.end(JSON.stringify(health));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const world = makeWorld();
  const { RoomhubClient } = await import("@roomhub/client");
  world.context.createClient = (hubUrl, fetch) => new RoomhubClient({ hubUrl, fetch });
  return {
    ...{ world, host, paths, invite: `http://${host}/#pin=${pin}` },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

test("the key of an invite is required by later commands, whatever the scheme that they name", async () => {
  await using hub = await startHub();
  const { world, host, invite } = hub;
  expect(await world.run("health", invite)).toBe(0);
  expect(world.pins).toEqual([{ hubUrl: host, room: "", id: "pin", token: pin }]);
  for (const url of [`http://${host}`, `https://${host}`, host])
    expect(await world.run("health", url)).toBe(0);
  expect(hub.paths).toHaveLength(4);
  expect(world.stderr.text).toBe("");
});

test("another key than the remembered one is refused with both, before anything is sent", async () => {
  await using hub = await startHub();
  const { world, host } = hub;
  world.pins.push({ hubUrl: host, room: "", id: "pin", token: other });
  expect(await world.run("health", `http://${host}`)).toBe(5);
  expect(world.stderr.text).toContain(`expected ${other}, found ${pin}; nothing was sent`);
  expect(world.stderr.text).toContain("another machine stands between it and you");
  expect(hub.paths).toEqual([]);
});

test("an explicit invite replaces a remembered key, with one line, once the hub has shown its key", async () => {
  await using hub = await startHub();
  const { world, host, invite } = hub;
  world.pins.push({ hubUrl: host, room: "", id: "pin", token: other });
  expect(await world.run("health", invite.replace(pin, pinOf(newCertificate([]).cert)))).toBe(5);
  expect(world.pins.map(({ token }) => token)).toEqual([other]);
  world.stderr.text = "";
  expect(await world.run("health", invite)).toBe(0);
  expect(world.pins.at(-1)?.token).toBe(pin);
  expect(world.stderr.text).toBe(
    `The invite replaces the key of ${host}: ${other} before, ${pin} now\n`,
  );
});

test("participants get the pin of their hub", async () => {
  const world = makeWorld();
  world.pins.push({ hubUrl: "10.0.0.7:5050", room: "", id: "pin", token: pin });
  const pins = new Pins(world.context);
  expect(await pins.withPin("http://10.0.0.7:5050")).toBe(`https://10.0.0.7:5050#pin=${pin}`);
  expect(await pins.withPin("http://10.0.0.8:5050")).toBe("http://10.0.0.8:5050");
});

test("pins are listed and forgotten", async () => {
  const world = makeWorld({ stdout: capture() });
  expect(await world.run("pins", "list")).toBe(0);
  expect(world.stderr.text).toBe("No invite has pinned the key of a hub\n");
  world.pins.push({ hubUrl: "10.0.0.7:5050", room: "", id: "pin", token: pin });
  await world.run("pins", "list");
  await world.run("pins", "list", "--json");
  expect(world.stdout.text).toBe(
    `10.0.0.7:5050  ${pin}\n{"pins":[{"host":"10.0.0.7:5050","pin":"${pin}"}]}\n`,
  );
  expect(await world.run("pins", "forget", "10.0.0.8")).toBe(3);
  expect(await world.run("pins", "forget", "http://10.0.0.7:5050/rooms/ABC234")).toBe(0);
  expect(world.pins).toEqual([]);
});

test.each([
  ["http://127.0.0.1:5050/#pin=sha256-short", "The pin in this invite is not complete"],
  [`ABC234#pin=${pin}`, "A pin belongs to the URL of a hub"],
])("%s is a usage error", async (invite, message) => {
  const world = makeWorld();
  expect(await world.run("health", invite)).toBe(2);
  expect(world.stderr.text).toContain(message);
});

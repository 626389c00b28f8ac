import type { CertificatePair } from "@roomhub/hub";
import { expect, test, vi } from "vitest";
import { aRoom, makeWorld, passing, type TestWorld } from "../test-context.fixture.ts";
import { makeCertificate } from "./make-certificate.ts";

const flags = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];

function certificate(...names: string[]): CertificatePair {
  return makeCertificate({
    names,
    notBefore: new Date("2026-01-01T00:00:00Z"),
    notAfter: new Date("2027-01-01T00:00:00Z"),
    serial: Buffer.alloc(16, names.length),
  });
}

/** A machine with these files, whose hub's certificate is replaced when the test says that time has passed. */
function machineWith(pair: CertificatePair) {
  const files = new Map([
    ["cert.pem", pair.cert],
    ["key.pem", pair.key],
  ]);
  const replaced: CertificatePair[] = [];
  let check = (): void => {};
  let reads = 0;
  const world: TestWorld = makeWorld(
    {
      readFile: async (path) => {
        reads += 1;
        const text = files.get(path);
        if (text === undefined)
          throw Object.assign(new Error("ENOENT: no such file"), { code: "ENOENT" });
        return text;
      },
      world: {
        ...passing(),
        setInterval: (task) => {
          check = task;
          return {};
        },
        clearInterval: () => {
          check = () => {};
        },
      },
    },
    {
      listRooms: async () => [],
      createRoom: async ({ name }) => ({ room: aRoom({ name }), hostId: "h" }),
    },
  );
  const { createHub } = world.context;
  world.context.createHub = async (options) => ({
    ...(await createHub(options)),
    replaceCertificate: (next) => replaced.push(next),
  });
  const put = (next: Partial<CertificatePair>) => {
    if (next.cert !== undefined) files.set("cert.pem", next.cert);
    if (next.key !== undefined) files.set("key.pem", next.key);
  };
  const pass = async () => {
    const before = reads;
    check();
    await vi.waitFor(() => expect(reads).toBe(before + 2));
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { world, files, replaced, put, pass };
}

async function serving(world: TestWorld, ...args: string[]): Promise<() => Promise<number>> {
  const running = world.run("serve", ...args);
  await vi.waitFor(() => expect(world.stderr.text).not.toBe(""));
  return () => {
    world.stop();
    return running;
  };
}

test("a hub with a certificate is shown under its names with https, and under addresses that it covers", async () => {
  const pair = certificate("localhost", "*.example", "hub.example", "192.168.1.5");
  const { world } = machineWith(pair);
  const stop = await serving(world, "--lan", ...flags);
  expect(world.hubs[0]?.tls).toEqual({ ...pair, only: false });
  expect(world.stderr.text).toContain("  https://hub.example:5050  (certificate)\n");
  expect(world.stderr.text).toContain("  https://192.168.1.5:5050  (eth0)\n");
  expect(world.stderr.text).not.toMatch(/\*\.example|https:\/\/localhost/);
  expect(world.stderr.text).toContain("ready at http://127.0.0.1:5050\n");
  expect(await stop()).toBe(0);
});

test("an address that the certificate does not cover stays with http, unless plain HTTP is refused", async () => {
  const { world } = machineWith(certificate("hub.example"));
  await (
    await serving(world, "--lan", ...flags)
  )();
  expect(world.stderr.text).toContain("  http://192.168.1.5:5050  (eth0)\n");
  const only = machineWith(certificate("hub.example")).world;
  await (
    await serving(only, "--lan", "--tls-only", ...flags)
  )();
  expect(only.hubs[0]?.tls?.only).toBe(true);
  expect(only.stderr.text).toContain("  https://192.168.1.5:5050  (eth0)\n");
  expect(only.stderr.text).toContain("ready at https://127.0.0.1:5050\n");
});

test("a renewed certificate is used once its key is there too", async () => {
  const { world, replaced, put, pass } = machineWith(certificate("hub.example"));
  const stop = await serving(world, ...flags);
  const next = certificate("hub.example", "other.example");
  await pass();
  put({ cert: next.cert });
  await pass();
  expect([replaced, world.stderr.text]).toEqual([[], expect.not.stringContaining("!")]);
  put({ key: next.key });
  await pass();
  await pass();
  expect(replaced).toEqual([next]);
  expect(world.stderr.text).toContain("replaced; it is valid until Jan  1 00:00:00 2027 GMT\n");
  await stop();
});

test("what shares a model beside a hub follows a renewal with another key, and invites pin none", async () => {
  const { world, put, pass } = machineWith(certificate("hub.example"));
  world.context.fetch = async () => Response.json({ data: [{ id: "m" }] });
  const running = world.run(
    "up",
    "--lan",
    "--tls-only",
    "--endpoint",
    "http://127.0.0.1:9/v1",
    "--model",
    "m",
    ...flags,
  );
  await vi.waitFor(() => expect(world.stdout.text).not.toBe(""));
  const pinOfHub = () => world.participants[0]?.pin?.();
  const before = pinOfHub();
  expect(before).toMatch(/^sha256-/);
  put(certificate("hub.example"));
  await pass();
  expect(pinOfHub()).toMatch(/^sha256-/);
  expect(pinOfHub()).not.toBe(before);
  expect(world.hubs[0]?.tls?.pin).toBeUndefined();
  expect(world.stdout.text).not.toContain("sha256-");
  world.stop();
  expect(await running).toBe(0);
});

test("files that stay without a matching pair are reported once, and the certificate is kept", async () => {
  const { world, files, replaced, put, pass } = machineWith(certificate("hub.example"));
  const stop = await serving(world, ...flags);
  put({ cert: certificate("hub.example").cert });
  for (let time = 0; time < 4; time++) await pass();
  const said = "! The certificate in use is kept: The key in key.pem does not belong to";
  expect(world.stderr.text.split(said)).toHaveLength(2);
  files.delete("key.pem");
  await pass();
  expect(world.stderr.text).toContain("kept: The key key.pem cannot be read: ENOENT");
  expect(replaced).toEqual([]);
  await stop();
});

test.each([
  ["no certificate", { cert: "hello" }, "cert.pem does not contain a certificate"],
  ["no key", { key: "hello" }, "key.pem does not contain a key without a passphrase in PEM"],
  ["another key", { key: certificate("h").key }, "key.pem does not belong to the certificate in"],
])("a pair with %s ends the command", async (_what, wrong, message) => {
  const { world, put } = machineWith(certificate("hub.example"));
  put(wrong);
  expect(await world.run("serve", ...flags)).toBe(1);
  expect(world.stderr.text).toContain(message);
  expect(world.hubs).toEqual([]);
});

test.each([
  [["--tls-cert", "cert.pem"], "--tls-cert and --tls-key need each other"],
  [["--tls-only"], "--tls-only needs a certificate"],
])("%s alone is a usage error", async (args, message) => {
  const { world } = machineWith(certificate("hub.example"));
  expect(await world.run("serve", ...args)).toBe(2);
  expect(world.stderr.text).toContain(message);
});

test("--tls seals a hub with a certificate of this user, and its invites pin the key", async () => {
  const world = makeWorld();
  const running = world.run("serve", "--lan", "--tls");
  await vi.waitFor(() => expect(world.stderr.text).not.toBe(""));
  world.stop();
  expect(await running).toBe(0);
  const pin = world.hubs[0]?.tls?.pin ?? "";
  expect(pin).toMatch(/^sha256-[\w-]{43}$/);
  expect(world.stderr.text).toContain("  http://192.168.1.5:5050  (eth0)\n");
  expect(world.stderr.text).toContain(
    `npx -y ./roomhub.tgz join 'http://192.168.1.5:5050/rooms/CODE#pin=${pin}'`,
  );
});

test("a certificate that cannot be used ends the command", async () => {
  const ownCertificate = () => Promise.reject(new Error("the disk is full"));
  const world = makeWorld({ ownCertificate });
  expect(await world.run("serve", "--tls")).toBe(1);
  expect(world.stderr.text).toContain("cannot be used: the disk is full");
  expect(world.stderr.text).toContain("--tls-cert FILE --tls-key FILE");
});

import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { createPeerReader, normaliseAddress, type PeerOptions } from "./peer.ts";

function request(remoteAddress: string, headers: Record<string, string> = {}): IncomingMessage {
  return {
    socket: { remoteAddress, localPort: 5050, destroyed: false },
    headers,
  } as unknown as IncomingMessage;
}

const nothing = { token: undefined, hostToken: undefined, keys: [] };

function reader(options: Partial<PeerOptions> = {}, publicUrl?: string) {
  const warnings: string[] = [];
  const peers = createPeerReader(
    {
      trustedProxies: [],
      sharedAddresses: [],
      hasAddressRights: true,
      credentialsFrom: () => nothing,
      isOperator: () => false,
      onUntrustedProxy: () => warnings.push("untrusted"),
      ...options,
    },
    publicUrl,
  );
  return { peers, warnings };
}

const addressOf = (
  remote: string,
  headers: Record<string, string>,
  trustedProxies: string[] = [],
) => reader({ trustedProxies }).peers.peerOf(request(remote, headers)).address;

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["::1", "127.0.0.1"],
  ["::ffff:127.0.0.1", "127.0.0.1"],
  ["::FFFF:10.0.0.1", "10.0.0.1"],
  ["fe80::1%eth0", "fe80::1"],
  ["2001:db8::1", "2001:db8::1"],
])("%s is the address %s", (spelled, address) => {
  expect(normaliseAddress(spelled)).toBe(address);
});

describe("the peer's address", () => {
  test.each([
    ["no proxy", "10.0.0.9", {}, [], "10.0.0.9"],
    ["a stranger's X-Forwarded-For", "10.0.0.9", { "x-forwarded-for": "127.0.0.1" }, [], undefined],
    ["a stranger's Forwarded", "10.0.0.9", { forwarded: "for=127.0.0.1" }, [], undefined],
    ["a stranger's X-Real-IP", "10.0.0.9", { "x-real-ip": "127.0.0.1" }, [], undefined],
    [
      "a stranger's X-Forwarded-Proto",
      "127.0.0.1",
      { "x-forwarded-proto": "https" },
      [],
      undefined,
    ],
    ["a trusted proxy", "10.0.0.1", { "x-forwarded-for": "8.8.8.8" }, ["10.0.0.1"], "8.8.8.8"],
    [
      "a trusted network",
      "10.0.0.77",
      { "x-forwarded-for": "8.8.8.8" },
      ["10.0.0.0/24"],
      "8.8.8.8",
    ],
    [
      "a proxy beside the network",
      "10.0.1.1",
      { "x-forwarded-for": "8.8.8.8" },
      ["10.0.0.0/24"],
      undefined,
    ],
    [
      "two trusted proxies",
      "10.0.0.1",
      { "x-forwarded-for": "8.8.8.8, 10.0.0.2" },
      ["10.0.0.0/24"],
      "8.8.8.8",
    ],
    [
      "an address the client made up",
      "10.0.0.1",
      { "x-forwarded-for": "127.0.0.1, 8.8.8.8" },
      ["10.0.0.1"],
      "8.8.8.8",
    ],
    [
      "a mapped entry",
      "10.0.0.1",
      { "x-forwarded-for": "::ffff:9.9.9.9" },
      ["10.0.0.1"],
      "9.9.9.9",
    ],
    [
      "a trusted IPv6 network",
      "fd00::1",
      { "x-forwarded-for": "2001:db8::5" },
      ["fd00::/8"],
      "2001:db8::5",
    ],
    [
      "a port behind it",
      "10.0.0.1",
      { "x-forwarded-for": "8.8.8.8:4711" },
      ["10.0.0.1"],
      "8.8.8.8",
    ],
    [
      "brackets around it",
      "10.0.0.1",
      { "x-forwarded-for": "[2001:db8::1]:4711" },
      ["10.0.0.1"],
      "2001:db8::1",
    ],
    [
      "a trusted proxy that says unknown",
      "127.0.0.1",
      { "x-forwarded-for": "unknown" },
      ["127.0.0.1"],
      undefined,
    ],
    [
      "a trusted proxy that names only the protocol",
      "127.0.0.1",
      { "x-forwarded-proto": "https" },
      ["127.0.0.1"],
      undefined,
    ],
    ["a proxy trusted as ::1", "::1", { "x-forwarded-for": "8.8.8.8" }, ["::1"], "8.8.8.8"],
    ["a trusted proxy that forwards nothing", "10.0.0.1", {}, ["10.0.0.1"], "10.0.0.1"],
  ] as const)("behind %s", (_what, remote, headers, trusted, address) => {
    expect(addressOf(remote, headers, [...trusted])).toBe(address);
  });

  test("that is hidden shares one throttle with all that are, and is warned of once", () => {
    const { peers, warnings } = reader();
    for (const remote of ["10.0.0.1", "10.0.0.2"]) {
      const peer = peers.peerOf(request(remote, { "x-forwarded-for": remote }));
      expect([peer.address, peer.throttleKey]).toEqual([undefined, "forwarded"]);
    }
    expect(warnings).toHaveLength(1);
  });

  test.each([
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::1", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002:ffff::", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["1::2:3:4:5:6:7", "1:0:2:3::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["64:ff9b:1:2:3:4:10.0.0.9", "64:ff9b:1:2::/64"],
    ["::2", "0:0:0:0::/64"],
    ["::1", "127.0.0.1"],
    ["::ffff:10.0.0.9", "10.0.0.9"],
    ["10.0.0.9", "10.0.0.9"],
  ])("is throttled with its whole network: %s as %s", (remote, key) => {
    const { peers } = reader();
    expect(peers.peerOf(request(remote)).throttleKey).toBe(key);
    expect(peers.sourceOf(request(remote)).throttleKey).toBe(key);
  });

  test("proves nothing where addresses have no rights, but still counts for the throttle", () => {
    const { peers } = reader({ hasAddressRights: false });
    const peer = peers.peerOf(request("10.0.0.9"));
    expect([peer.address, peer.throttleKey]).toEqual([undefined, "10.0.0.9"]);
  });

  test.each([
    ["itself", "172.17.0.1", {}],
    ["in its IPv6 form", "fe80::1%eth0", {}],
    ["as a proxy names it", "10.0.0.1", { "x-forwarded-for": "172.17.0.1" }],
  ])("of many clients, %s, is none, and counts for the throttle", (_what, remote, headers) => {
    const { peers } = reader({
      trustedProxies: ["10.0.0.1"],
      sharedAddresses: ["172.17.0.1", "fe80::1"],
    });
    const peer = peers.peerOf(request(remote, headers));
    expect([peer.address, peer.nearAddress]).toEqual([undefined, undefined]);
    expect(peers.sourceOf(request(remote, headers)).ownAddress).toBeUndefined();
    expect(peer.throttleKey).not.toBe("forwarded");
    expect(peers.peerOf(request("172.17.0.2")).address).toBe("172.17.0.2");
  });

  test("of many clients is still that of a trusted proxy", () => {
    const { peers } = reader({
      trustedProxies: ["172.17.0.1"],
      sharedAddresses: ["172.17.0.1"],
    });
    const forwarded = request("172.17.0.1", { "x-forwarded-for": "192.168.1.5" });
    expect(peers.peerOf(forwarded).address).toBe("192.168.1.5");
  });

  test.each(["nonsense", "", "300.0.0.1/8", "example.com", "10.0.0.0/33", "10.0.0.0/x"])(
    "refuses %j as a trusted proxy",
    (entry) => {
      expect(() => reader({ trustedProxies: [entry] })).toThrow(/--trust-proxy/);
    },
  );
});

describe("the address of an owner", () => {
  const nearOf = (remote: string, headers = {}, options = {}) => {
    const { peers } = reader(options);
    const { nearAddress } = peers.peerOf(request(remote, headers));
    return [nearAddress, peers.sourceOf(request(remote, headers)).ownAddress];
  };

  test.each([
    ["127.0.0.1", "127.0.0.1"],
    ["::1", "127.0.0.1"],
    ["10.1.2.3", "10.1.2.3"],
    ["172.16.0.9", "172.16.0.9"],
    ["192.168.1.5", "192.168.1.5"],
    ["100.64.0.1", "100.64.0.1"],
    ["fd00::7", "fd00::7"],
  ])("%s is %s for a participant and for a request", (remote, address) => {
    expect(nearOf(remote)).toEqual([address, address]);
  });

  test.each(["8.8.8.8", "172.32.0.1", "169.254.1.1", "2001:db8::1", "fe80::1", ""])(
    "a participant at %j has none",
    (remote) => {
      expect(nearOf(remote)[0]).toBeUndefined();
    },
  );

  test("there is none behind a proxy, trusted or not, nor where addresses prove nothing", () => {
    const forwarded = { "x-forwarded-for": "192.168.1.5" };
    const none = [undefined, undefined];
    expect(nearOf("10.0.0.1", forwarded)).toEqual(none);
    expect(nearOf("10.0.0.1", forwarded, { trustedProxies: ["10.0.0.1"] })).toEqual(none);
    expect(nearOf("10.0.0.1", {}, { hasAddressRights: false })).toEqual(none);
  });
});

test("a peer has left when its connection is closed", () => {
  const { peers } = reader();
  const incoming = request("10.0.0.9");
  const peer = peers.peerOf(incoming);
  expect(peer.hasLeft()).toBe(false);
  Object.assign(incoming.socket, { destroyed: true });
  expect(peer.hasLeft()).toBe(true);
});

test("a peer says whether a web page sent it, and which token it carries", () => {
  const { peers } = reader({ credentialsFrom: () => ({ ...nothing, token: "rhp_x" }) });
  const page = peers.peerOf(request("127.0.0.1", { origin: "https://evil.example" }));
  expect(page).toMatchObject({ hasOrigin: true, token: "rhp_x" });
  expect(peers.peerOf(request("127.0.0.1")).hasOrigin).toBe(false);
});

describe("what the hub is called", () => {
  const forwarded = { "x-forwarded-host": "hub.example", "x-forwarded-proto": "https" };
  test.each([
    ["as the client requested", "10.0.0.9", { host: "lab:5050" }, [], "http://lab:5050"],
    ["by IPv6", "::1", { host: "[::1]:5050" }, [], "http://[::1]:5050"],
    [
      "as a trusted proxy says",
      "10.0.0.1",
      { host: "inner", ...forwarded },
      ["10.0.0.1"],
      "https://hub.example",
    ],
    [
      "never as a stranger's proxy says",
      "10.0.0.1",
      { host: "inner", ...forwarded },
      [],
      "http://inner",
    ],
    ["never by a forged host", "10.0.0.9", { host: 'x"><script>' }, [], "http://127.0.0.1:5050"],
    ["somehow without a host", "10.0.0.9", {}, [], "http://127.0.0.1:5050"],
    ["never by half an address", "10.0.0.9", { host: "[::1" }, [], "http://127.0.0.1:5050"],
    ["never by a host with a path", "10.0.0.9", { host: "a/b" }, [], "http://127.0.0.1:5050"],
    [
      "with the path of a trusted proxy",
      "10.0.0.1",
      { host: "inner", ...forwarded, "x-forwarded-prefix": "/lab/" },
      ["10.0.0.1"],
      "https://hub.example/lab",
    ],
    [
      "without a path that is none",
      "10.0.0.1",
      { host: "inner", "x-forwarded-prefix": "/$(id)" },
      ["10.0.0.1"],
      "http://inner",
    ],
    [
      "by its Host where a trusted proxy names a forged one",
      "10.0.0.1",
      { host: "inner", "x-forwarded-host": "a;b" },
      ["10.0.0.1"],
      "http://inner",
    ],
  ] as const)("%s", (_what, remote, headers, trusted, origin) => {
    const { peers } = reader({ trustedProxies: [...trusted] });
    expect(peers.originOf(request(remote, headers))).toBe(origin);
  });

  test.each([
    ["192.168.1.5", "http://192.168.1.5:5050"],
    ["::ffff:192.168.1.5", "http://192.168.1.5:5050"],
    ["fd00::7", "http://[fd00::7]:5050"],
    ["fe80::1%eth0", "http://[fe80::1]:5050"],
  ])(
    "by the address where the connection came in, without a usable host: %s",
    (address, origin) => {
      const incoming = request("10.0.0.9", { host: "a;b" });
      Object.assign(incoming.socket, { localAddress: address });
      expect(reader().peers.originOf(incoming)).toBe(origin);
    },
  );

  test("by its public URL, whatever the request says", () => {
    const { peers } = reader({}, "https://hub.example");
    expect(peers.originOf(request("10.0.0.9", { host: "inner" }))).toBe("https://hub.example");
  });
});

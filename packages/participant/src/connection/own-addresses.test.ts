import type { NetworkInterfaceInfo } from "node:os";
import { expect, test } from "vitest";
import { hasAddress } from "./tunnel-connection.ts";

const wifi = { address: "192.168.1.7", family: "IPv4" } as NetworkInterfaceInfo;
const wifi6 = { address: "fe80::1", family: "IPv6" } as NetworkInterfaceInfo;

test("a connection's address is found in both of its forms, and missed after a change of networks", () => {
  const home = { lo: [], wlan0: [wifi, wifi6] };
  expect(hasAddress(home, "192.168.1.7")).toBe(true);
  expect(hasAddress(home, "::ffff:192.168.1.7")).toBe(true);
  expect(hasAddress(home, "fe80::1%wlan0")).toBe(true);
  expect(hasAddress(home, "10.0.0.7")).toBe(false);
  expect(hasAddress({ wlan0: undefined }, "192.168.1.7")).toBe(false);
});

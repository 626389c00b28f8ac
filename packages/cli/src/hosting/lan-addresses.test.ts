import type { NetworkInterfaceInfo } from "node:os";
import { expect, test } from "vitest";
import { findLanAddresses } from "./lan-addresses.ts";

function info(address: string, internal = false): NetworkInterfaceInfo {
  const common = { address, netmask: "", mac: "", internal, cidr: null };
  return address.includes(":")
    ? { ...common, family: "IPv6", scopeid: 0 }
    : { ...common, family: "IPv4" };
}

test("real networks come before virtual ones; loopback and link-local addresses do not count", () => {
  const found = findLanAddresses({
    lo: [info("127.0.0.1", true), info("::1", true)],
    docker0: [info("172.17.0.1")],
    eth0: [info("169.254.3.4"), info("192.168.1.5"), info("fe80::1")],
  });
  expect(found).toEqual([
    { address: "192.168.1.5", interfaceName: "eth0" },
    { address: "172.17.0.1", interfaceName: "docker0" },
  ]);
});

test("IPv6 is shown when there is nothing else", () => {
  const found = findLanAddresses({ eth0: [info("fe80::1"), info("2001:db8::5")] });
  expect(found).toEqual([{ address: "2001:db8::5", interfaceName: "eth0" }]);
});

import type { NetworkInterfaceInfo } from "node:os";
import { describe, expect, test } from "vitest";
import { findLanAddresses, gatewaysOf, ipv6GatewaysOf } from "./network-addresses.ts";

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

const header =
  "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT";
const onLink = "eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0";
const byDefault = "eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0";
const zero = "0".repeat(32);

describe("the default gateway", () => {
  test.each([
    ["of a container", [header, byDefault, onLink], ["172.17.0.1"]],
    ["of a container without one", [header, onLink], []],
    ["of a network behind another router", [header, byDefault.replace("00000000", "0000010A")], []],
    ["that is no router", [header, byDefault.replace("0003", "0001")], []],
    [
      "of two interfaces",
      [header, byDefault, byDefault.replace("010011AC", "FE01A8C0")],
      ["172.17.0.1", "192.168.1.254"],
    ],
    ["of a table without lines", [""], []],
  ])("%s is read from its route table", (_what, lines, gateways) => {
    expect(gatewaysOf(lines.join("\n"), "LE")).toEqual(gateways);
  });

  test("is read on a machine that writes the first byte first", () => {
    expect(gatewaysOf(byDefault.replace("010011AC", "AC110001"), "BE")).toEqual(["172.17.0.1"]);
  });

  test.each([
    ["a unique local one", "fd000000000000000000000000000001", "00000003", ["fd00::1"]],
    ["a link-local one", "fe800000000000000000000000000001", "00000003", ["fe80::1"]],
    ["a full one", "20010db8000100020003000400050006", "00000003", ["2001:db8:1:2:3:4:5:6"]],
    ["none", zero, "80200001", []],
  ])("of IPv6 is %s, spelled as sockets do", (_what, hop, flags, gateways) => {
    const line = `${zero} 00 ${zero} 00 ${hop} 00000400 00000002 00000000 ${flags}     eth0`;
    const network = `fd${"0".repeat(30)} 40 ${zero} 00 ${hop} 00000100 00000001 00000000 00000003     eth0`;
    expect(ipv6GatewaysOf(`${network}\n${line}\n`)).toEqual(gateways);
  });
});

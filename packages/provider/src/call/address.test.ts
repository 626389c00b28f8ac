import { expect, test } from "vitest";
import { type AddressClass, classifyAddress, destinationOf } from "./address.ts";

const table: Record<AddressClass, string[]> = {
  loopback: [
    "127.0.0.1",
    "127.255.255.255",
    "0.0.0.0",
    "0.1.2.3",
    "::1",
    "::",
    "[::1]",
    "0:0:0:0:0:0:0:1",
    "0000:0000:0000:0000:0000:0000:0000:0000",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "0:0:0:0:0:ffff:7f00:0001",
    "::127.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::7f00:1",
    "2002:7f00:1::",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
  ],
  private: [
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "fc00::1",
    "fdff:ffff::1",
    "fd00:ec2::253",
    "FD12:3456::1",
    "::ffff:192.168.1.1",
    "::ffff:c0a8:101",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::8.8.8.8",
    "2002:c0a8:101::1",
  ],
  refused: [
    "169.254.169.254",
    "169.254.0.1",
    "100.100.100.200",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "fe80::1",
    "fe80::1%eth0",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "fd00:ec2::254",
    "fd00:0ec2:0:0:0:0:0:0254",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::6464:64c8",
    "2002:a9fe:a9fe::",
    "",
    "localhost",
    "0x7f.1",
    "2130706433",
    "1.2.3.4.5",
    ":::1",
  ],
  public: [
    "8.8.8.8",
    "1.1.1.1",
    "126.255.255.255",
    "128.0.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.167.255.255",
    "100.63.255.255",
    "100.128.0.1",
    "169.253.255.255",
    "223.255.255.255",
    "2606:4700::1111",
    "2001:4860:4860::8888",
    "2001:db8::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
    "fbff::1",
  ],
};
for (const [expected, addresses] of Object.entries(table)) {
  test(`these addresses are ${expected}`, () => {
    const found = addresses.map((address) => `${address} ${classifyAddress(address)}`);
    expect(found).toEqual(addresses.map((address) => `${address} ${expected}`));
  });
}

test("this machine's own addresses are loopback in every form, but for those that are never dialled", () => {
  const own = new Set(["192.168.1.5", "203.0.113.9", "2001:db8:0:0:0:0:0:5", "fe80:0:0:0:0:0:0:5"]);
  const forms = {
    loopback: [
      "192.168.1.5",
      "::ffff:192.168.1.5",
      "::ffff:c0a8:105",
      "64:ff9b::192.168.1.5",
      "64:ff9b:1::192.168.1.5",
      "2002:c0a8:105::1",
      "203.0.113.9",
      "2001:db8::5",
      "[2001:0DB8:0:0:0::5]",
    ],
    private: ["192.168.1.6", "::ffff:192.168.1.6"],
    public: ["203.0.113.10", "2001:db8::6"],
    refused: ["fe80::5", "fe80::5%eth0"],
  };
  for (const [expected, addresses] of Object.entries(forms)) {
    for (const address of addresses) {
      expect(`${address} ${classifyAddress(address, own)}`).toBe(`${address} ${expected}`);
    }
  }
});

test("all forms of an address have one destination", () => {
  for (const form of ["10.1.2.3", "::ffff:10.1.2.3", "[::ffff:a01:203]", "64:ff9b::10.1.2.3"]) {
    expect(destinationOf(form)).toBe("10.1.2.3");
  }
  for (const form of [
    "2001:db8::5",
    "2001:0db8:0:0:0:0:0:0005",
    "[2001:DB8::5]",
    "2001:db8::5%1",
  ]) {
    expect(destinationOf(form)).toBe("2001:db8:0:0:0:0:0:5");
  }
  expect(destinationOf("localhost")).toBeUndefined();
});

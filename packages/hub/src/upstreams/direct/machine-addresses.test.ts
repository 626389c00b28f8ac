import { expect, test } from "vitest";
import { MachineAddresses } from "./machine-addresses.ts";

test("addresses of this machine's interfaces are its own, also those that come later", () => {
  const interfaces = ["127.0.0.1", "192.168.1.5", "fe80::1%eth0", "2001:db8::5"];
  let nowMs = 0;
  const addresses = new MachineAddresses(
    () => interfaces,
    () => nowMs,
  );
  const classes = () =>
    ["192.168.1.5", "2001:db8:0::5", "10.0.0.7", "8.8.8.8"].map((each) => addresses.classify(each));
  expect(classes()).toEqual(["loopback", "loopback", "private", "public"]);
  interfaces[1] = "10.0.0.7";
  nowMs += 1_000;
  expect(classes()).toEqual(["private", "loopback", "loopback", "public"]);
});

test("the interfaces are read once a second, however often an address is judged", () => {
  let nowMs = 0;
  let reads = 0;
  const addresses = new MachineAddresses(
    () => (reads++, ["192.168.1.5"]),
    () => nowMs,
  );
  for (; nowMs < 3_000; nowMs += 10) addresses.classify(`10.0.0.${nowMs % 7}`);
  expect(reads).toBe(3);
});

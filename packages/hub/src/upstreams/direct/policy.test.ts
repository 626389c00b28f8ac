import { classifyAddress } from "@roomhub/provider";
import { describe, expect, test } from "vitest";
import type { Registrant } from "../../domain/participant.ts";
import { aParticipant } from "../../domain/room.fixture.ts";
import {
  addressProblem,
  DIAL_RIGHTS,
  dialRightOf,
  directPathOf,
  type DialRight,
  MachineAddresses,
} from "./policy.ts";

describe("how far a registration reaches", () => {
  test.each([
    ["127.0.0.1", false, "loopback"],
    ["127.9.9.9", false, "loopback"],
    ["10.1.2.3", false, "private"],
    ["172.16.0.1", false, "private"],
    ["192.168.1.5", false, "private"],
    ["100.64.0.1", false, "private"],
    ["fd12::1", false, "private"],
    ["8.8.8.8", false, "public"],
    ["2001:4860::1", false, "public"],
    ["169.254.1.1", false, "public"],
    ["fe80::1", false, "public"],
    ["nonsense", false, "public"],
    [undefined, false, "public"],
    ["127.0.0.1", true, "public"],
    ["10.1.2.3", true, "public"],
  ] as const)("from %s, by a web page %s: %s", (address, hasOrigin, right) => {
    expect(dialRightOf({ address, hasOrigin })).toBe(right);
  });
});

describe("what may be dialled", () => {
  const table: Record<string, Record<Exclude<DialRight, "elsewhere">, boolean>> = {
    "127.0.0.1": { loopback: true, private: false, public: false },
    "::1": { loopback: true, private: false, public: false },
    "0.0.0.0": { loopback: true, private: false, public: false },
    "::": { loopback: true, private: false, public: false },
    "::ffff:127.0.0.1": { loopback: true, private: false, public: false },
    "10.0.0.1": { loopback: true, private: true, public: false },
    "172.31.255.255": { loopback: true, private: true, public: false },
    "192.168.0.1": { loopback: true, private: true, public: false },
    "100.64.0.1": { loopback: true, private: true, public: false },
    "fd00::1": { loopback: true, private: true, public: false },
    "::ffff:10.0.0.1": { loopback: true, private: true, public: false },
    "169.254.169.254": { loopback: false, private: false, public: false },
    "::ffff:169.254.169.254": { loopback: false, private: false, public: false },
    "169.254.0.1": { loopback: false, private: false, public: false },
    "fd00:ec2::254": { loopback: false, private: false, public: false },
    "100.100.100.200": { loopback: false, private: false, public: false },
    "fe80::1": { loopback: false, private: false, public: false },
    "224.0.0.1": { loopback: false, private: false, public: false },
    "255.255.255.255": { loopback: false, private: false, public: false },
    "ff02::1": { loopback: false, private: false, public: false },
    "8.8.8.8": { loopback: true, private: true, public: true },
    "172.32.0.1": { loopback: true, private: true, public: true },
    "2606:4700::1111": { loopback: true, private: true, public: true },
  };

  test.each(Object.entries(table))("%s", (address, rights) => {
    for (const right of DIAL_RIGHTS) {
      const problem = addressProblem(right, address, classifyAddress);
      // A registration of another computer reaches as far as one of the public internet.
      const expected = rights[right === "elsewhere" ? "public" : right];
      expect(problem === undefined, `${right}: ${problem}`).toBe(expected);
      if (problem !== undefined) expect(problem).toContain(address);
    }
  });
});

describe("what can be said before dialling", () => {
  const near: Registrant = { address: "127.0.0.1", hasOrigin: false, throttleKey: "" };
  const far: Registrant = { address: "8.8.8.8", hasOrigin: false, throttleKey: "" };
  const path = (baseUrl: string, registrant: Registrant) =>
    directPathOf(aParticipant({ id: "a", baseUrl, registrant }), true, classifyAddress).kind;

  test.each([
    ["http://127.0.0.1:11434/v1", "untried", "refused"],
    ["http://localhost:11434/v1", "untried", "refused"],
    ["http://model.localhost/v1", "untried", "refused"],
    ["http://[::1]:11434/v1", "untried", "refused"],
    ["http://[::ffff:127.0.0.1]/v1", "untried", "refused"],
    ["http://10.0.0.1/v1", "untried", "refused"],
    ["http://169.254.169.254/v1", "refused", "refused"],
    ["http://8.8.8.8/v1", "untried", "untried"],
    ["http://model.example/v1", "untried", "untried"],
  ])("of %s: %s from here, %s from afar", (baseUrl, fromHere, fromAfar) => {
    expect([path(baseUrl, near), path(baseUrl, far)]).toEqual([fromHere, fromAfar]);
  });

  test.each(["http://127.0.0.1:11434/v1", "http://localhost:1/v1", "http://10.0.0.1/v1"])(
    "%s is refused to a registration of another computer, which may join again",
    (baseUrl) => {
      const registrant = { ...near, computer: "0b0b" };
      const refused = directPathOf(
        aParticipant({ id: "a", baseUrl, registrant }),
        true,
        classifyAddress,
      );
      expect(refused).toMatchObject({ kind: "refused" });
      expect(refused.kind === "refused" && refused.reason).toMatch(/another one: join again$/);
    },
  );

  test("a public endpoint, or a name, may be tried for a registration of another computer", () => {
    const registrant = { ...near, computer: "0b0b" };
    expect(path("http://8.8.8.8/v1", registrant)).toBe("untried");
    expect(path("http://model.example/v1", registrant)).toBe("untried");
    expect(dialRightOf(registrant)).toBe("elsewhere");
  });

  test("spellings of an address that URL() rewrites are judged as what they mean", () => {
    for (const host of ["2130706433", "0x7f.1", "017700000001", "127.1"]) {
      expect(path(`http://${host}/v1`, far)).toBe("refused");
    }
  });

  test("a participant that announced a tunnel, or a hub that calls no endpoints, has no direct path", () => {
    const participant = aParticipant({ id: "a", isTunnelOnly: true });
    expect(directPathOf(participant, true, classifyAddress).kind).toBe("refused");
    const refused = directPathOf(aParticipant({ id: "a" }), false, classifyAddress);
    expect(refused.kind === "refused" && refused.reason).toContain("--no-direct");
  });
});

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

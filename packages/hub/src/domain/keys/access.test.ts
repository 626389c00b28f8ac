import { type KeyRight, KEY_RIGHTS } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { type Holder, mayDo, type Need } from "./access.ts";

const needs = {
  none: "host participant share use watch",
  infer: "use",
  use: "host use",
  watch: "host watch",
  share: "participant share",
  join: "participant share",
  any: "host participant share use watch",
  change: "host",
  host: "host",
} satisfies Record<Need, string>;

function holderOf(may: KeyRight): Holder {
  const key = { id: "1", name: "ada", may: [may], digest: "", previous: undefined, createdAt: 0 };
  const ends = { expiresAt: undefined, revokedAt: undefined, lastSeenDay: undefined };
  return { kind: "key", key: { ...key, ...ends } };
}

const holders: Record<string, Holder> = {
  host: { kind: "host" },
  participant: { kind: "participant" },
  ...Object.fromEntries([...KEY_RIGHTS].sort().map((right) => [right, holderOf(right)])),
};

test.each(Object.entries(needs))("%s is open to: %s", (need, expected) => {
  const allowed = Object.entries(holders).flatMap(([name, holder]) =>
    mayDo(need as Need, holder) ? [name] : [],
  );
  expect(allowed.join(" ")).toBe(expected);
});

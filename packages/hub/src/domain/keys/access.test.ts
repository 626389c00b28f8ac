import { type KeyRight, KEY_RIGHTS } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { aRoom } from "../room.fixture.ts";
import { Access, type Holder, mayDo, type Need } from "./access.ts";
import { KeyTable } from "./key-table.ts";

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
  const key = {
    id: "1",
    name: "ada",
    may: [may],
    models: undefined,
    requestsPerMinute: undefined,
    tokenDay: undefined,
    digest: "",
    previous: undefined,
    createdAt: 0,
  };
  const ends = { expiresAt: undefined, revokedAt: undefined, lastSeenDay: undefined };
  return { kind: "key", key: { ...key, ...ends }, digest: "" };
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

function access(holder: Holder | undefined, room = aRoom()) {
  room.isClosed = true;
  if (holder?.kind === "key") room.keys = new KeyTable([holder.key]);
  return { room, access: new Access(room, holder) };
}

test("access by a key ends when that is revoked or expires, and is back when the room is opened", () => {
  const holder = holderOf("use");
  const { room, access: one } = access(holder);
  const { key } = one;
  if (key === undefined) throw new Error("it has a key");
  expect(one.refusal(5)).toBeUndefined();
  room.keys = new KeyTable([{ ...key, revokedAt: 5 }]);
  expect(one.refusal(5)?.code).toBe("key_revoked");
  room.keys = new KeyTable([{ ...key, expiresAt: 5 }]);
  expect([one.refusal(4)?.code, one.refusal(5)?.code]).toEqual([undefined, "key_expired"]);
  room.keys = new KeyTable([]);
  expect(one.refusal(5)?.code).toBe("invalid_api_key");
  room.isClosed = false;
  expect(one.refusal(5)).toBeUndefined();
});

test("access without a key ends when the room is closed, the host's does not", () => {
  const { room, access: one } = access(undefined);
  expect(one.refusal(0)?.code).toBe("invalid_api_key");
  expect(access({ kind: "host" }).access.refusal(0)).toBeUndefined();
  room.isClosed = false;
  expect(one.refusal(0)).toBeUndefined();
});

test("what was made with a key has a name of its own", () => {
  expect(access(holderOf("use")).access.own("resp_1")).toBe("1/resp_1");
  expect(access(undefined).access.own("resp_1")).toBe("resp_1");
});

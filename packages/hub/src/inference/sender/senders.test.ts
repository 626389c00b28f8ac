import { describe, expect, test } from "vitest";
import { claimsOf, Senders, RecentValues } from "./senders.ts";
import { array, assert, integer, property } from "fast-check";

const here = { throttleKey: "192.0.2.1", ownAddress: "192.0.2.1" };
const there = { throttleKey: "192.0.2.2", ownAddress: undefined };

function createSenders() {
  const hashed: string[] = [];
  const senders = new Senders((purpose, value) => {
    hashed.push(`${purpose} ${value}`);
    return `${purpose.slice(0, 1)}${hashed.length}000000000000000`.slice(0, 16);
  });
  const clientOf = (headers: Record<string, string | string[]>, bodyUser?: string) =>
    senders.senderOf(here, claimsOf(headers), bodyUser, undefined).client;
  return { senders, hashed, clientOf };
}

describe("key", () => {
  test.each([
    [{ authorization: "Bearer as-alice" }, "alice"],
    [{ authorization: "bearer  as-Alice_2.x" }, "Alice_2.x"],
    [{ "x-api-key": "as-bob" }, "bob"],
    [{ "x-api-key": ["as-bob", "as-eve"] }, "bob"],
    [{ authorization: "Bearer as-alice", "x-api-key": "as-bob" }, "alice"],
    [{ authorization: " ", "x-api-key": "as-bob" }, "bob"],
  ])("%j is the name %s", (headers, id) => {
    expect(createSenders().clientOf(headers)).toEqual({ kind: "name", id });
  });

  test.each([
    "Bearer sk-secret",
    "Bearer as-",
    "Bearer as--alice",
    "Bearer as-alice smith",
    `Bearer as-${"a".repeat(33)}`,
    "Bearer as-älice",
    "Basic dXNlcjpwYXNz",
    `Bearer ${"long".repeat(200)}`,
  ])("%s is a fingerprint", (authorization) => {
    const { clientOf, hashed } = createSenders();
    expect(clientOf({ authorization })).toEqual({ kind: "key", id: "c1000000" });
    expect(hashed[0]).toBe(`client ${authorization.replace(/^Bearer /, "")}`);
  });

  test.each<Record<string, string>>([
    {},
    { authorization: "" },
    { authorization: "Bearer" },
    { authorization: "Bearer roomhub" },
    { authorization: "Bearer rhp_anything" },
    { authorization: "Bearer rhc_anything" },
    { "x-api-key": "rhp_anything" },
    { "x-api-key": "rhc_anything" },
    { authorization: "Bearer rhh_anything" },
    { authorization: "Bearer rhk_anything" },
    { "x-api-key": "rhk_anything" },
  ])("%j is none, and no fingerprint of it is made", (headers) => {
    const { clientOf, hashed } = createSenders();
    expect(clientOf(headers)).toEqual({ kind: "none", id: "" });
    expect(hashed).toEqual(["address 192.0.2.1"]);
  });

  test("the same key is the same client in either header", () => {
    const { senders } = createSenders();
    const of = (headers: Record<string, string>) =>
      senders.senderOf(here, claimsOf(headers), undefined, undefined).client.kind;
    expect(of({ authorization: "Bearer as-alice" })).toBe(of({ "x-api-key": "as-alice" }));
  });
});

describe("user", () => {
  test.each([
    [{ "x-openwebui-user-name": "bob", "x-openwebui-user-id": "7" }, "eve", "bob"],
    [{ "x-openwebui-user-id": "7f-3" }, "eve", "7f-3"],
    [{}, "eve", "eve"],
  ])("%j and %s in the body is the user %s", (headers, bodyUser, user) => {
    const { clientOf } = createSenders();
    expect(clientOf({ "x-api-key": "as-web", ...headers }, bodyUser)).toEqual({
      kind: "name",
      id: "web",
      user,
    });
  });

  test.each(["bob@mail.example", "Bob Jones", "Bob%20Jones", "b".repeat(33)])(
    "%s is a fingerprint",
    (bodyUser) => {
      const { clientOf, hashed } = createSenders();
      const { user } = clientOf({}, bodyUser);
      expect(user).toMatch(/^u\d0{6}$/);
      expect(hashed).toContain(`user ${bodyUser}`);
    },
  );

  test.each(["", " ", "rhp_token", "rhc_key"])("%j is no user", (bodyUser) => {
    expect(createSenders().clientOf({}, bodyUser)).toEqual({ kind: "none", id: "" });
  });
});

test("a client that repeats is the same frozen object, and nothing is hashed again", () => {
  const { clientOf, hashed } = createSenders();
  const headers = { authorization: "Bearer sk-secret" };
  const first = clientOf(headers, "bob@mail.example");
  const count = hashed.length;
  expect(clientOf(headers, "bob@mail.example")).toBe(first);
  expect(Object.isFrozen(first)).toBe(true);
  expect(hashed).toHaveLength(count);
});

test("an address has a fingerprint of its own", () => {
  const { senders } = createSenders();
  const one = senders.senderOf(here, claimsOf({}), undefined, undefined);
  const other = senders.senderOf(there, claimsOf({}), undefined, undefined);
  expect(one).toMatchObject({ address: "a1000000" });
  expect(other.address).not.toBe(one.address);
});

test.each<[Record<string, string>, string | undefined]>([
  [{ authorization: "Bearer rhc_1" }, "rhc_1"],
  [{ "x-api-key": "rhc_1" }, "rhc_1"],
  [{ authorization: "Bearer as-alice", "x-api-key": "rhc_1" }, "rhc_1"],
  [{ authorization: "Bearer as-rhc_1" }, undefined],
  [{}, undefined],
])("%j proves ownership with the address and the client key %s", (headers, clientKey) => {
  const { senders } = createSenders();
  const sender = senders.senderOf(here, claimsOf(headers), undefined, undefined);
  expect(sender.proof).toEqual({ ownAddress: "192.0.2.1", clientKey, keyId: undefined });
});

test("the holder of a room's key has its name whatever the headers claim, and takes turns apart from its address", () => {
  const { senders } = createSenders();
  const headers = { authorization: "Bearer as-eve", "x-openwebui-user-name": "bob" };
  const [ada, other] = ["1", "2"].map((id) =>
    senders.senderOf(here, claimsOf(headers), undefined, { id, name: "ada" }),
  );
  expect(ada?.client).toEqual({ kind: "holder", id: "ada", user: "bob" });
  expect(ada?.proof.keyId).toBe("1");
  expect(ada?.address).not.toBe(other?.address);
  const neighbour = senders.senderOf(
    here,
    claimsOf({ "x-api-key": "as-ada" }),
    undefined,
    undefined,
  );
  expect(neighbour.client.kind).toBe("name");
  expect(neighbour.address).not.toBe(ada?.address);
});

test("a printed sender does not contain its client key", () => {
  const { senders } = createSenders();
  const claims = claimsOf({ authorization: "Bearer rhc_1" });
  expect(JSON.stringify(senders.senderOf(here, claims, undefined, undefined))).not.toContain(
    "rhc_1",
  );
});

const size = 4;

test("the values that were used last are kept", () => {
  assert(
    property(array(integer({ min: 0, max: 12 })), (uses) => {
      const values = new RecentValues<number>(size);
      for (const [at, use] of uses.entries()) {
        const lastUsed = [...new Set(uses.slice(0, at).toReversed())].slice(0, size);
        const known = values.get(String(use));
        if (lastUsed.includes(use)) expect(known).toBe(use);
        if (known === undefined) values.set(String(use), use);
      }
    }),
  );
});

test("at most twice the number of values is kept", () => {
  const values = new RecentValues<number>(size);
  const keys = Array.from({ length: 100 }, (_, index) => String(index));
  for (const key of keys) values.set(key, 1);
  const kept = keys.filter((key) => values.get(key) !== undefined);
  expect(kept.length).toBeLessThanOrEqual(2 * size);
});

test("a key over 256 characters is not kept", () => {
  const values = new RecentValues<number>(size);
  values.set("k".repeat(257), 1);
  values.set("k".repeat(256), 2);
  expect(values.get("k".repeat(257))).toBeUndefined();
  expect(values.get("k".repeat(256))).toBe(2);
});

import { expect, test } from "vitest";
import type { Need } from "../domain/keys/access.ts";
import { requireAccess } from "./access.ts";
import { createKey, revokeKey } from "./keys.ts";
import { createOffice, elsewhere, home, peerAt } from "./operations.fixture.ts";
import { createRoom } from "./rooms.ts";

async function closedRoom(limits = {}) {
  const office = createOffice({ limits });
  const { context } = office;
  const peer = peerAt(home);
  const created = await createRoom(context, { name: "a", closed: true }, peer);
  const room = context.registry.room(created.room.code);
  const ask = (need: Need, fields: Parameters<typeof peerAt>[1] = {}, from = home) => {
    try {
      const request = { need, participantId: undefined, peer: peerAt(from, fields) };
      return requireAccess(context, room, request).holder?.kind;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  return {
    office,
    context,
    room,
    ask,
    key: created.key?.value ?? "",
    hostToken: created.hostToken,
  };
}

test("an address proves nothing in a closed room, not even that of the hub's own machine", async () => {
  const { ask } = await closedRoom();
  for (const need of ["infer", "any", "change", "host"] as const) {
    expect(ask(need, {}, "127.0.0.1")).toBe("invalid_api_key");
  }
});

test("the first key may use, share and watch; the host token may read and administer", async () => {
  const { ask, key, hostToken } = await closedRoom();
  for (const need of ["infer", "use", "watch", "share", "join", "any"] as const) {
    expect(ask(need, { keys: [key] })).toBe("key");
  }
  expect(ask("host", { keys: [key] })).toBe("not_allowed");
  expect(ask("host", { keys: [key], hostToken })).toBe("host");
  for (const need of ["use", "watch", "any", "change", "host"] as const) {
    expect(ask(need, { hostToken })).toBe("host");
  }
  expect(ask("infer", { hostToken })).toBe("not_allowed");
  expect(ask("any", { hostToken: `${hostToken}x` })).toBe("invalid_api_key");
});

test("the operator's secret is as good as a host token, in open rooms too", async () => {
  const { ask, context, office } = await closedRoom();
  expect(ask("host", { isOperator: true })).toBe("host");
  const open = context.registry.room(office.room);
  const request = { need: "host", participantId: undefined } as const;
  expect(() => requireAccess(context, open, { ...request, peer: peerAt("127.0.0.1") })).toThrow(
    /Only the host/,
  );
  requireAccess(context, open, { ...request, peer: peerAt(elsewhere, { isOperator: true }) });
});

test("two different keys are none, and one that is not valid is not passed over for a host token", async () => {
  const { ask, context, room, key, hostToken } = await closedRoom();
  const bob = await createKey(context, room.code, { name: "bob" });
  expect(ask("use", { keys: [bob.value] })).toBe("key");
  expect(ask("use", { keys: [key, bob.value] })).toBe("invalid_api_key");
  await revokeKey(context, room.code, "BOB");
  expect(ask("use", { keys: [bob.value] })).toBe("key_revoked");
  expect(ask("use", { keys: [bob.value], hostToken })).toBe("key_revoked");
});

test("an expired key says so", async () => {
  const { ask, context, room, office } = await closedRoom();
  const bob = await createKey(context, room.code, { name: "bob", expiresInMs: 1_000 });
  expect(ask("use", { keys: [bob.value] })).toBe("key");
  office.pass(1_000);
  expect(ask("use", { keys: [bob.value] })).toBe("key_expired");
});

test("the token of a participant may share, and a password stands for a key in a join alone", async () => {
  const { ask, office, room } = await closedRoom();
  const { participant, token } = await office.join({ id: "eve" }, peerAt(home), room.code);
  expect(ask("share", { token })).toBe("participant");
  expect(ask("any", { token })).toBe("participant");
  expect(ask("infer", { token })).toBe("not_allowed");
  expect(ask("share", { token: `${token}x` })).toBe("invalid_api_key");
  expect(ask("join")).toBe("invalid_api_key");
  Object.assign(room, { isPasswordProtected: true });
  expect(ask("join")).toBeUndefined();
  expect(ask("share")).toBe("invalid_api_key");
  const change = { need: "join", participantId: participant.id, peer: peerAt(home) } as const;
  expect(() => requireAccess(office.context, room, change)).toThrow(/needs a key/);
});

test("failures of an address are limited to 60 at once and one each second, those of others and valid keys are not", async () => {
  const { ask, office, key } = await closedRoom();
  for (let n = 0; n < 60; n++) expect(ask("use")).toBe("invalid_api_key");
  expect(ask("use")).toBe("too_many_attempts");
  expect(ask("use", { keys: ["rhk_guess"] })).toBe("too_many_attempts");
  expect(ask("use", { keys: [key] })).toBe("key");
  expect(ask("use", {}, elsewhere)).toBe("invalid_api_key");
  office.pass(1_000);
  expect(ask("use")).toBe("invalid_api_key");
  expect(ask("use")).toBe("too_many_attempts");
});

import { systemWorld } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { aParticipant } from "../../domain/room.fixture.ts";
import { aRequesterSession } from "./requester-session.fixture.ts";
import { ResumableSessions } from "./resumable-sessions.ts";

/** Ada's session, and what her agent presents to go on with it. */
function begin() {
  const sessions = new ResumableSessions(systemWorld, "5d0e-");
  const ada = aParticipant({ id: "ada", tokenDigest: new Uint8Array(32).fill(1) });
  const session = aRequesterSession();
  const begun = sessions.decide(ada, session, { bootId: "boot", claim: undefined });
  if (begun.kind !== "new") throw new Error("no session");
  const { id, secret } = begun;
  const claim = { id, secret, generation: 2, received: 0, sent: 0 };
  return { sessions, ada, session, offer: { bootId: "boot", claim } };
}

test("a session has a name that begins with its hub's, and a secret of 32 random bytes", () => {
  const { offer } = begin();
  expect(offer.claim.id).toMatch(/^5d0e-[0-9a-f]{32}$/);
  expect(offer.claim.secret).toMatch(/^[\w-]{43}$/);
});

test("a session goes on for the agent that began it", () => {
  const { sessions, ada, session, offer } = begin();
  expect(sessions.decide(ada, aRequesterSession(), offer)).toEqual({ kind: "resume", session });
});

test("a session is refused to another secret, another run, another participant and another token", () => {
  const { sessions, ada, session, offer } = begin();
  const eve = aParticipant({ id: "eve", tokenDigest: ada.tokenDigest });
  const forged = { ...offer, claim: { ...offer.claim, secret: "x".repeat(43) } };
  const refused = { kind: "refuse", code: 4009 };
  expect(sessions.decide(ada, aRequesterSession(), forged)).toMatchObject(refused);
  expect(sessions.decide(ada, aRequesterSession(), { ...offer, bootId: "other" })).toMatchObject(
    refused,
  );
  expect(sessions.decide(eve, aRequesterSession(), offer)).toMatchObject(refused);
  const { tokenDigest } = ada;
  ada.tokenDigest = new Uint8Array(32).fill(2);
  expect(sessions.decide(ada, aRequesterSession(), offer)).toMatchObject(refused);
  ada.tokenDigest = tokenDigest;
  expect(sessions.decide(ada, aRequesterSession(), offer)).toEqual({ kind: "resume", session });
});

test("a session that has ended is unknown, and a tunnel that presents it begins another", () => {
  const { sessions, ada, session, offer } = begin();
  sessions.forget(session);
  const begun = sessions.decide(ada, aRequesterSession(), offer);
  expect(begun.kind).toBe("new");
  expect(begun).not.toMatchObject({ id: offer.claim.id });
});

test("a handshake finds the sessions of its own participant only", () => {
  const { sessions, ada, session, offer } = begin();
  const { id } = offer.claim;
  expect(sessions.find(ada, id)).toBe(session);
  expect(sessions.find(aParticipant({ id: "eve" }), id)).toBeUndefined();
  expect(sessions.find(ada, undefined)).toBeUndefined();
});

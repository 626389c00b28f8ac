import { HubUnreachableError, openAIOptions, openRoom, RoomhubClient } from "@roomhub/client";
import { createParticipant, type ParticipantNotice } from "@roomhub/participant";
import OpenAI from "openai";
import { describe, expect, test, vi } from "vitest";
import { thisMachine } from "../../packages/cli/src/doctor/machine.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startConnectProxy } from "../support/hub/connect-proxy.ts";
import { type Middle, startMiddle } from "../support/hub/middle.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { pinOf, testCertificate } from "../support/hub/test-certificate.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

const secret = "canary-7f3a";
const pair = testCertificate({ names: ["roomhub"] });
const pin = pinOf(pair);

/** A hub with a certificate of its own, a room in it, and the place where an attacker stands. */
async function startSealed() {
  const hub = await startTestHub({ tls: pair });
  const middle = await startMiddle(hub.port);
  const code = await hub.createRoom(secret);
  const url = (scheme: string) => `${scheme}://127.0.0.1:${middle.port}`;
  return {
    ...{ hub, middle, code, url },
    invite: `${url("http")}/rooms/${code}#pin=${pin}`,
    async [Symbol.asyncDispose]() {
      await middle[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
    },
  };
}

function agentAt(hubUrl: string, room: string, endpoint: string, env = {}, pinNow?: () => string) {
  const notices: ParticipantNotice[] = [];
  const agent = createParticipant({
    ...{ hubUrl, room, endpoint, id: "ada", nickname: "ada", model: "m", password: secret },
    timing: { drainMs: 0 },
    onNotice: (notice) => notices.push(notice),
    ...{ env, pin: pinNow },
  });
  return { agent, notices, said: () => JSON.stringify(notices) };
}

/** The attacker has read nothing, and what went by is not in clear. */
function expectSealed({ read, wire }: Middle): void {
  expect(read).toEqual([]);
  const seen = Buffer.concat(wire).toString("latin1");
  expect(seen).not.toMatch(/canary|HTTP\/1|rhp_|to be or not/);
}

describe("a hub with a pin", () => {
  test.each(["http", "https"])("is used over TLS from an invite with %s", async (scheme) => {
    await using sealed = await startSealed();
    await using provider = await startFakeProvider({});
    const { code, middle } = sealed;
    const endpoint = `http://127.0.0.1:${provider.port}/v1`;
    const { agent } = agentAt(`${sealed.url(scheme)}#pin=${pin}`, code, endpoint);
    await agent.start();
    const room = await openRoom(sealed.invite.replace("http", scheme));
    expect((await room.participants()).map(({ id }) => id)).toEqual(["ada"]);
    expect(room.baseURL).toBe(`${sealed.url("https")}/rooms/${code}/v1`);
    const openai = new OpenAI({ ...openAIOptions(room), maxRetries: 0 });
    const messages = userSays("to be or not");
    const whole = await openai.chat.completions.create({ model: "*", messages });
    expect(whole.choices[0]?.message.content).toBe("to be or not");
    const stream = await openai.chat.completions.create({ model: "*", messages, stream: true });
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toBe("to be or not");
    await agent.close();
    expectSealed(middle);
    expect(middle.wire.length).toBeGreaterThan(0);
  });

  test("sends its events over TLS", async () => {
    await using sealed = await startSealed();
    const room = await openRoom(sealed.invite);
    const events = room.events();
    const first = events[Symbol.asyncIterator]().next();
    await vi.waitFor(() => expect(sealed.middle.wire.length).toBeGreaterThan(2));
    const body = { id: "a", nickname: "a", model: "m", endpoint: "http://127.0.0.1:9" };
    await sealed.hub.client.join(sealed.code, { ...body, password: secret });
    expect((await first).done).toBe(false);
    expectSealed(sealed.middle);
  });
});

test("an agent of a hub whose certificate is replaced, as this process knows, is back with the next key", async () => {
  await using sealed = await startSealed();
  const { hub, middle, code } = sealed;
  let now = pin;
  const { agent, said } = agentAt(sealed.invite, code, "http://127.0.0.1:9/v1", {}, () => now);
  await agent.start();
  const next = testCertificate({ names: ["roomhub"] });
  hub.hub.replaceCertificate(next);
  middle.cut();
  await vi.waitFor(() => expect(said()).toContain("another key than the pin"), 10_000);
  now = pinOf(next);
  await vi.waitFor(async () => {
    const ada = await hub.client.getParticipant(code, "ada");
    expect(ada.connection).toMatchObject({ connected: true });
  }, 20_000);
  await agent.close();
  expectSealed(middle);
});

describe("an attacker with a certificate between a client and its hub", () => {
  test.each(["attacking", "stripping"] as const)("reads nothing of the SDK: %s", async (mode) => {
    await using sealed = await startSealed();
    sealed.middle.mode = mode;
    const error: unknown = await openRoom(sealed.invite).catch((thrown: unknown) => thrown);
    if (!(error instanceof HubUnreachableError)) throw error;
    expect(error.message).toMatch(
      mode === "attacking"
        ? new RegExp(
            `another key than the pin of its invite: expected ${pin}, found sha256-[\\w-]{43}; nothing was sent`,
          )
        : /does not use TLS, which the pin of its invite requires; nothing was sent/,
    );
    expect(error.hint).toContain("Get a new invite");
    expect(error.isTlsProblem).toBe(true);
    if (mode === "attacking") expectSealed(sealed.middle);
    // The stripper reads the first bytes of a handshake, in which nothing is secret.
    else expect(sealed.middle.read.join("")).not.toMatch(/canary|HTTP|GET/);
  });

  test("reads nothing of a join", async () => {
    await using sealed = await startSealed();
    const { agent, said } = agentAt(sealed.invite, sealed.code, "http://127.0.0.1:9/v1");
    sealed.middle.mode = "attacking";
    const started = expect(agent.start()).rejects.toThrow("closed by this program");
    await vi.waitFor(() => expect(said()).toContain("another key than the pin of its invite"));
    await agent.close();
    await started;
    expectSealed(sealed.middle);
  });

  test("reads nothing when the tunnel is dialled again, and the agent is back when the attacker has left", async () => {
    await using sealed = await startSealed();
    const { middle, hub, code } = sealed;
    const { agent, notices, said } = agentAt(sealed.invite, code, "http://127.0.0.1:9/v1");
    await agent.start();
    middle.mode = "attacking";
    middle.cut();
    await vi.waitFor(() => expect(said()).toContain("another key than the pin"), 10_000);
    expectSealed(middle);
    notices.length = 0;
    middle.mode = "honest";
    await vi.waitFor(async () => {
      const ada = await hub.client.getParticipant(code, "ada");
      expect(ada.connection).toMatchObject({ connected: true });
    }, 20_000);
    await agent.close();
    expectSealed(middle);
  });

  test("reads nothing of doctor's handshake, which an honest network passes on", async () => {
    await using sealed = await startSealed();
    const url = new URL(
      `${sealed.url("https")}/v1/rooms/${sealed.code}/participants/doctor/tunnel`,
    );
    const handshake = () => thisMachine({}).handshake(url, pin, AbortSignal.timeout(10_000));
    expect((await handshake()).body).toContain("participant_not_found");
    sealed.middle.mode = "attacking";
    await expect(handshake()).rejects.toThrow(`expected ${pin}, found sha256-`);
    expectSealed(sealed.middle);
  });

  test("reads nothing behind a proxy that passes connections on, and the agent is there when the attacker has left", async () => {
    await using sealed = await startSealed();
    const { middle, hub, code } = sealed;
    await using proxy = await startConnectProxy(middle.port);
    const hubUrl = `http://hub.test:5050#pin=${pin}`;
    const { agent, said } = agentAt(hubUrl, code, "http://127.0.0.1:9/v1", proxy.env);
    middle.mode = "attacking";
    const started = agent.start();
    await vi.waitFor(() => expect(said()).toContain("another key than the pin"), 10_000);
    expectSealed(middle);
    middle.mode = "honest";
    await started;
    const ada = await hub.client.getParticipant(code, "ada");
    expect(ada.connection).toMatchObject({ connected: true });
    expect(new Set(proxy.asked)).toEqual(new Set(["hub.test:5050"]));
    await agent.close();
    expectSealed(middle);
  });

  test("is seen by doctor, which requests nothing of it", async () => {
    await using sealed = await startSealed();
    const url = new URL(sealed.url("https"));
    const facts = () => thisMachine({}).tls(url, AbortSignal.timeout(10_000));
    expect(await facts()).toMatchObject({ pin, isSelfSigned: true, issuer: "roomhub" });
    sealed.middle.mode = "attacking";
    expect((await facts())?.pin).not.toBe(pin);
    sealed.middle.mode = "stripping";
    expect(await facts()).toBeUndefined();
    expect(sealed.middle.read.join("")).not.toMatch(/canary|HTTP|GET/);
  });

  test("gets nothing from a client that trusts its authority", async () => {
    await using sealed = await startSealed();
    const attacker = testCertificate();
    await using middle = await startMiddle(sealed.hub.port, attacker);
    middle.mode = "attacking";
    const hubUrl = `https://127.0.0.1:${middle.port}#pin=${pin}`;
    await expect(new RoomhubClient({ hubUrl }).health()).rejects.toThrow("another key");
    // The pin of another key of the same attacker is that attacker's.
    const own = `https://127.0.0.1:${middle.port}#pin=${pinOf(attacker)}`;
    await expect(new RoomhubClient({ hubUrl: own }).health()).rejects.toThrow(
      "not from a roomhub hub",
    );
    expect(middle.read).toHaveLength(1);
  });
});

test.each(["sha256-", pin.slice(0, -1), `${pin}A`, "md5-abc", ""])(
  "a pin that is not whole is refused before anything is sent: %s",
  (cut) => {
    const hubUrl = `https://127.0.0.1:9#pin=${cut}`;
    expect(() => new RoomhubClient({ hubUrl })).toThrow("pin in this invite is not complete");
    expect(() => agentAt(hubUrl, "ABC234", "http://127.0.0.1:9")).toThrow("not complete");
  },
);

import { withTls } from "@roomhub/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { certificateOfAuthority } from "../support/hub/authority.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { startDoor, doorKey } from "../support/hub/start-door.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { pinOf, testCertificate } from "../support/hub/test-certificate.ts";
import { missingInPython, PythonProgram } from "../support/programs/python.ts";
import type { Behaviour } from "../support/providers/fake-provider.ts";
import { PICTURE, SOUND, startMediaServer } from "../support/providers/media-server.ts";
import { startRoutedProvider } from "../support/providers/routed-provider.ts";
import { until } from "../support/waiting.ts";
import { openClosedRoom, openRoom } from "./room.ts";

const missing = missingInPython("openai");
const skipped = missing === undefined ? "" : ` (skipped: ${missing})`;

/** What a request gave. */
interface Asked {
  text: string;
  participant: string;
  request_id: string;
  retries: number;
  seconds: number;
}

describe.skipIf(missing !== undefined)(`openai for Python${skipped}`, () => {
  let python: PythonProgram;
  beforeAll(() => {
    python = new PythonProgram(new URL("openai.py", import.meta.url));
  });
  afterAll(() => python.close());

  describe("in a room", () => {
    test("shows which participant served a request, and the hub's id of it", async () => {
      await using room = await openRoom();
      const asked = await python.call<Asked>("ask", { base_url: room.baseUrl, prompt: "to be" });
      expect(asked).toMatchObject({ text: "to be", participant: "ada", retries: 0 });
      expect(asked.request_id).toMatch(/^req_\w+$/);
    });

    test("parses chat and responses into the application's own classes", async () => {
      await using room = await openRoom();
      const weather = { city: "Oslo", celsius: 3 };
      const text = JSON.stringify(weather);
      const parsed = await python.call("parse", { base_url: room.baseUrl, text });
      expect(parsed).toEqual([weather, weather]);
    });

    test("gathers streams with its helpers", async () => {
      await using room = await openRoom();
      const prompt = "to be or not";
      const given = { base_url: room.baseUrl, prompt };
      const streamed = await python.call<{ numbers: number[] }>("stream_with_helpers", given);
      expect(streamed).toMatchObject({
        ...{ deltas: ["to", " be", " or", " not"], chat: prompt, response: prompt },
        numbers: streamed.numbers.map((_number, at) => at),
      });
    });

    test("gets embeddings as numbers", async () => {
      await using room = await openRoom();
      const given = { base_url: room.baseUrl, texts: ["a", "b"] };
      const vectors = await python.call<number[][]>("embed", given);
      expect(vectors).toHaveLength(2);
      expect(vectors[0]).toContain(1.125);
    });

    test("runs turns on one socket", async ({ skip }) => {
      const lacking = missingInPython("websockets");
      if (lacking !== undefined) return skip(lacking);
      await using room = await openRoom();
      const prompts = ["to be", "or not"];
      const given = { base_url: room.baseUrl, prompts };
      expect(await python.call("turns_on_a_socket", given)).toEqual(prompts);
    });

    test("gets twenty streams at once, each its own", async () => {
      await using room = await openRoom();
      const prompts = Array.from({ length: 20 }, (_, number) => `number ${number} of twenty`);
      const given = { base_url: room.baseUrl, prompts };
      expect(await python.call("many_at_once", given)).toEqual(prompts);
    });

    test("is shown where files and batches are", async () => {
      await using room = await openRoom();
      expect(await python.call("upload_to_a_room", { base_url: room.baseUrl })).toMatchObject({
        kind: "NotFoundError",
        hint: expect.stringContaining(
          `roomhub batch serve --room ${room.hub.url}/rooms/${room.code}`,
        ),
      });
    });
  });

  describe("when something fails", () => {
    test.each([429, 503])(
      "repeats a request after the time that comes with a %i",
      async (status) => {
        const refusal: Behaviour = { kind: "status", status, headers: { "retry-after": "1" } };
        const refusals = [refusal];
        await using room = await openRoom(() => refusals.pop());
        const given = { base_url: room.baseUrl, prompt: "to be", model: "ada" };
        const asked = await python.call<Asked>("ask", given);
        expect(asked).toMatchObject({ text: "to be", retries: 1 });
        expect(asked.seconds).toBeGreaterThan(0.9);
        expect(room.generations()).toBe(2);
      },
    );

    test("does not repeat a request where the hub says that it is in vain", async () => {
      await using room = await openRoom(() => ({ kind: "status", status: 401 }));
      expect(await python.call("fail", { base_url: room.baseUrl, prompt: "to be" })).toMatchObject({
        kind: "InternalServerError",
        code: "provider_auth_failed",
      });
      expect(room.generations()).toBe(1);
    });

    test("ends the model server's generation by its own time limit", async () => {
      await using room = await openRoom(() => ({ kind: "hang" }));
      const given = { base_url: room.baseUrl, prompt: "to be", timeout: 0.5, max_retries: 0 };
      expect(await python.call("fail", given)).toMatchObject({ kind: "APITimeoutError" });
      await room.provider.waitFor(({ aborted }) => aborted === 1);
    });

    test("ends the model server's generation by cancelling a task", async () => {
      await using room = await openRoom(() => ({ kind: "hang" }));
      const given = { base_url: room.baseUrl, prompt: "to be" };
      const began = () => room.provider.waitFor(({ openGenerations }) => openGenerations === 1);
      expect(await python.call("cancel_a_task", given, began)).toBe(true);
      await room.provider.waitFor(({ aborted }) => aborted === 1);
    });

    test("has an error with the hub's code for a stream that breaks off, behind its words", async () => {
      await using room = await openRoom(() => ({ kind: "cut", afterChunks: 5 }));
      const given = { base_url: room.baseUrl, prompt: "to be or not to be" };
      const broken = { kind: "APIError", code: "provider_disconnected" };
      const ends = await python.call<{ words: string[] }[]>("stream_until_it_fails", given);
      expect(ends).toMatchObject([broken, broken]);
      expect(ends.map(({ words }) => words[0])).toEqual(["to", "to"]);
    });
  });

  test("reads, lists, cancels and deletes a stored response", async () => {
    const stored = { id: "resp_1", object: "response", status: "completed", output: [] };
    await using server = await startRoutedProvider({
      "POST /responses": () => ({ json: stored }),
      "GET /responses/resp_1": () => ({ json: stored }),
      "GET /responses/resp_1/input_items": () => ({
        json: { object: "list", data: [{ id: "msg_1", type: "message" }], has_more: false },
      }),
      "POST /responses/resp_1/cancel": () => ({ json: { ...stored, status: "cancelled" } }),
      "DELETE /responses/resp_1": () => ({ json: { id: "resp_1", deleted: true } }),
    });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const capabilities = { storedResponses: "supported", openResponses: "supported" } as const;
    const wishes = { endpoint: server.url, model: "m", capabilities };
    await using _ada = await joinTunnel(hub, code, wishes);
    const given = { base_url: `${hub.url}/rooms/${code}/v1` };
    expect(await python.call("stored_responses", given)).toMatchObject({
      ...{ made: "resp_1", retrieved: "resp_1", items: ["msg_1"], cancelled: "cancelled" },
      unknown: { kind: "NotFoundError", code: "response_not_found" },
    });
  });

  test("hears, speaks into a file, and paints", async () => {
    await using server = await startMediaServer();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await joinTunnel(hub, code, { model: "tiny-media", endpoint: server.url });
    await until(
      "what it can do",
      () => hub.client.listParticipants(code),
      ([one]) => one?.capabilities["imageEdits"] === "supported",
    );
    const given = { base_url: `${hub.url}/rooms/${code}/v1` };
    expect(await python.call("sound_and_pictures", given)).toEqual({
      ...{ deltas: ["hello ", "there"], translated: "hello there", spoken: SOUND.length },
      ...{ painted: PICTURE, edited: PICTURE },
      seen: ["image_generation.partial_image", "image_generation.completed"],
    });
  });

  describe("in a closed room", () => {
    test("uses the room's key as its API key, and repeats nothing without one", async () => {
      await using room = await openClosedRoom({});
      const given = { base_url: room.baseUrl, prompt: "to be" };
      const asked = await python.call<Asked>("ask", { ...given, api_key: room.key });
      expect(asked.text).toBe("to be");
      const refused = await python.call("fail", { ...given, api_key: "another" });
      expect(refused).toMatchObject({ kind: "AuthenticationError", code: "invalid_api_key" });
      expect(room.generations()).toBe(1);
    });

    test("has an error with the time to wait for a key whose requests are used up", async () => {
      await using room = await openClosedRoom({ requestsPerMinute: 1 });
      const given = { base_url: room.baseUrl, prompt: "to be", api_key: room.key, max_retries: 0 };
      await python.call("ask", given);
      const refused = await python.call<{ retry_after: string }>("fail", given);
      expect(refused).toMatchObject({ kind: "RateLimitError", code: "key_limit_reached" });
      // The SDK waits no longer than a minute.
      expect(Number(refused.retry_after)).toBeLessThanOrEqual(60);
    });
  });

  describe("over TLS", () => {
    test("reaches a hub with a pin through a door", async () => {
      const tls = testCertificate();
      await using room = await openRoom(undefined, { tls });
      await using door = await startDoor(withTls(room.hub.url), room.code, { pin: pinOf(tls) });
      const given = { base_url: door.url, prompt: "to be", api_key: doorKey };
      expect((await python.call<Asked>("ask", given)).text).toBe("to be");
    });

    test.each(["verify", "SSL_CERT_FILE"])(
      "trusts an authority by %s, and no other hub",
      async (way) => {
        const { ca, ...tls } = certificateOfAuthority();
        await using room = await openRoom(undefined, { tls });
        const baseUrl = withTls(room.hub.url) + `/rooms/${room.code}/v1`;
        const given = { base_url: baseUrl, authority: ca };
        expect(await python.call("with_an_authority", { ...given, way })).toBe("to be");
        expect(await python.call("with_an_authority", { ...given, way: "" })).toMatch(
          /CERTIFICATE_VERIFY_FAILED/,
        );
      },
    );

    test("trusts a hub's own certificate where it is given as an authority", async () => {
      const tls = testCertificate();
      await using room = await openRoom(undefined, { tls });
      const baseUrl = withTls(room.hub.url) + `/rooms/${room.code}/v1`;
      const given = { base_url: baseUrl, authority: tls.cert, way: "SSL_CERT_FILE" };
      expect(await python.call("with_an_authority", given)).toBe("to be");
    });
  });
});

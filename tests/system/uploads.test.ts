import { createHash, randomBytes } from "node:crypto";
import { request as httpRequest } from "node:http";
import { describe, expect, test } from "vitest";
import { join, joinDirect, joinTunnel, PATHS } from "../support/hub/joining.ts";
import { type ClusterHub, startCluster } from "../support/hub/start-cluster.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { type ReceivedForm, startUploadServer } from "../support/providers/upload-server.ts";
import { until } from "../support/waiting.ts";

const mib = 1024 * 1024;
const boundary = "----x";
const file = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n`;
const modelPart = (model: string) =>
  `--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n${model}\r\n`;
const end = `\r\n--${boundary}--\r\n`;

/** A form whose file has so many bytes, and what a participant with the model `m` gets of it. */
function aForm(bytes: number, model = "model:m") {
  const sound = randomBytes(bytes);
  const of = (name: string) =>
    Buffer.concat([Buffer.from(modelPart(name) + file), sound, Buffer.from(end)]);
  return { sent: of(model), received: of("m") };
}

interface Sending {
  write(bytes: Buffer | string): void;
  end(): void;
  /** what the hub's connection has not taken */
  readonly unsentBytes: number;
  destroy(): void;
  response: Promise<{ status: number; code: string | undefined; text: string }>;
}

/** A client that sends a form as the test says. @param length - left out: in chunks */
function open(hub: Pick<TestHub, "url">, code: string, length?: number): Sending {
  const {
    promise: response,
    resolve,
    reject,
  } = Promise.withResolvers<Awaited<Sending["response"]>>();
  const request = httpRequest(`${hub.url}/rooms/${code}/v1/audio/transcriptions`, {
    method: "POST",
    agent: false,
    headers: {
      "content-type": `multipart/form-data; boundary=${boundary}`,
      ...(length === undefined ? {} : { "content-length": length }),
    },
  });
  request.on("response", (answer) => {
    let text = "";
    answer.on("data", (chunk: Buffer) => (text += chunk.toString()));
    answer.on("error", reject);
    answer.on("end", () => {
      const { error } = JSON.parse(text) as { error?: { code: string } };
      resolve({ status: answer.statusCode ?? 0, code: error?.code, text });
    });
  });
  request.on("error", reject);
  response.catch(() => undefined);
  return {
    write: (bytes) => void request.write(bytes),
    end: () => void request.end(),
    get unsentBytes() {
      return request.writableLength;
    },
    destroy: () => void request.destroy(),
    response,
  };
}

function untilForm(
  server: { forms: ReceivedForm[] },
  what: string,
  is: (form: ReceivedForm | undefined) => boolean,
): Promise<ReceivedForm | undefined> {
  return until(what, () => server.forms.at(-1), is);
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

describe.each(PATHS)("over %s", (path) => {
  test.each([
    ["the length that the client announced", true],
    ["chunks, as the client sends them", false],
  ])("a form arrives before its client has sent all of it, in %s", async (_how, isLength) => {
    await using server = await startUploadServer();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    const { sent, received } = aForm(3 * mib);
    const sending = open(hub, code, isLength ? sent.length : undefined);
    sending.write(sent.subarray(0, mib));
    const form = await untilForm(server, "the beginning", (one) => (one?.bytes ?? 0) > mib / 2);
    expect(form?.state).toBe("arriving");
    sending.write(sent.subarray(mib));
    sending.end();
    expect(await sending.response).toMatchObject({ status: 200, text: '{"text":"hello"}' });
    expect(form?.hash()).toBe(sha256(received));
    const { headers } = form?.request ?? {};
    expect(headers?.["content-type"]).toBe(`multipart/form-data; boundary=${boundary}`);
    expect(headers?.["content-length"]).toBe(isLength ? String(received.length) : undefined);
  });

  test("a form in pieces of a byte, with its model behind the file, arrives as it should", async () => {
    await using server = await startUploadServer();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    const whole = `${file}RIFF\r\n--x\r\n${modelPart("*")}${modelPart("a").replace('"model"', '"language"')}${end.slice(2)}`;
    const sending = open(hub, code);
    for (const byte of whole) {
      sending.write(byte);
      // So that each comes for itself.
      await new Promise(setImmediate);
    }
    sending.end();
    expect(await sending.response).toMatchObject({ status: 200 });
    expect(server.forms[0]?.text()).toBe(whole.replace("\r\n*\r\n", "\r\nm\r\n"));
  });

  test("a client that leaves closes the model server's request", async () => {
    await using server = await startUploadServer();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    const events = await hub.watch(code);
    const { sent } = aForm(2 * mib);
    const sending = open(hub, code, sent.length);
    sending.write(sent.subarray(0, mib));
    await untilForm(server, "the beginning", (one) => (one?.bytes ?? 0) > mib / 2);
    sending.destroy();
    await untilForm(server, "the end", (one) => one?.state === "broken");
    expect((await events.next("llm.error")).data).toMatchObject({ code: "client_disconnected" });
  });

  test.each([
    ["a second model", modelPart("m")],
    ["a part without a name", `--${boundary}\r\nContent-Disposition: form-data\r\n\r\n`],
  ])("%s ends the request, and the model server's", async (_what, part) => {
    await using server = await startUploadServer();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    const { sent } = aForm(mib);
    const body = Buffer.concat([
      sent.subarray(0, -end.length + 2),
      Buffer.from(part + end.slice(2)),
    ]);
    const sending = open(hub, code, body.length);
    sending.write(body.subarray(0, -1_000));
    await untilForm(server, "the beginning", (one) => (one?.bytes ?? 0) > mib / 2);
    sending.write(body.subarray(-1_000));
    sending.end();
    expect(await sending.response).toMatchObject({ status: 400, code: "invalid_form" });
    await untilForm(server, "the end", (one) => one?.state === "broken");
  });

  test("a form without its end is never whole at the model server", async () => {
    await using server = await startUploadServer();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    const { sent } = aForm(mib);
    const body = sent.subarray(0, -4);
    const sending = open(hub, code, body.length);
    sending.write(body.subarray(0, mib / 2));
    await untilForm(server, "the beginning", (one) => (one?.bytes ?? 0) > mib / 4);
    sending.write(body.subarray(mib / 2));
    sending.end();
    expect(await sending.response).toMatchObject({ status: 400, code: "invalid_form" });
    await untilForm(server, "the end", (one) => one?.state === "broken");
  });

  test("a model server that refuses at once has its response reach the client", async () => {
    await using server = await startUploadServer(({ response }) => {
      response.writeHead(413, { "content-type": "application/json" });
      response.end('{"error":{"message":"too long a recording","code":"too_long"}}');
    });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    const { sent } = aForm(4 * mib);
    const sending = open(hub, code, sent.length);
    sending.write(sent.subarray(0, mib));
    expect(await sending.response).toMatchObject({ status: 413, code: "too_long" });
    sending.destroy();
  });

  test("a model server that does not read stops its client, and nothing is lost", async () => {
    await using server = await startUploadServer((form) => {
      form.request.pause();
      form.request.on("end", () => {
        form.response.writeHead(200, { "content-type": "application/json" });
        form.response.end('{"text":"read"}');
      });
    });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    const { sent, received } = aForm(64 * mib);
    const sending = open(hub, code, sent.length);
    const form = untilForm(server, "the request", (one) => one !== undefined);
    for (let at = 0; at < sent.length; at += mib) sending.write(sent.subarray(at, at + mib));
    sending.end();
    await form;
    // What it takes until it stops depends on the system's buffers.
    let before = -1;
    await until(
      "the client to stand still",
      async () => {
        const { unsentBytes } = sending;
        const isStill = before === unsentBytes;
        before = unsentBytes;
        for (let turns = 0; turns < 200; turns++) await new Promise(setImmediate);
        return isStill && unsentBytes > 0;
      },
      Boolean,
    );
    expect(sending.unsentBytes).toBeGreaterThan(32 * mib);
    server.forms[0]?.request.resume();
    expect(await sending.response).toMatchObject({ status: 200, text: '{"text":"read"}' });
    expect(server.forms[0]?.hash()).toBe(sha256(received));
  });

  test.each([
    ["goes to another participant while less than 1 MiB of it has been sent", mib / 2, 200],
    ["is not sent again once more has been", 2 * mib, 502],
  ])("a form %s", async (_what, bytes, status) => {
    const forms: ReceivedForm[] = [];
    const take = (form: ReceivedForm) => {
      forms.push(form);
      const respond = (status: number) => {
        form.response.writeHead(status, { "content-type": "application/json" });
        form.response.end('{"text":"hello"}');
      };
      form.request.on("data", () => {
        if (forms[0] === form && form.bytes > 0.9 * bytes && !form.response.headersSent)
          respond(502);
      });
      form.request.on("end", () => {
        if (forms[0] !== form) respond(200);
      });
    };
    await using one = await startUploadServer(take);
    await using other = await startUploadServer(take);
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: one.url });
    await using _bob = await join(path, hub, code, { id: "bob", model: "m", endpoint: other.url });
    const { sent, received } = aForm(4 * mib, "m");
    const sending = open(hub, code, sent.length);
    sending.write(sent.subarray(0, bytes));
    if (status === 200) {
      await until(
        "the other participant",
        () => forms.length,
        (count) => count === 2,
      );
      sending.write(sent.subarray(bytes));
      sending.end();
    }
    expect(await sending.response).toMatchObject({ status });
    expect(forms.map((form) => form.hash()).slice(1)).toEqual(
      status === 200 ? [sha256(received)] : [],
    );
    sending.destroy();
  });
});

describe("a form", () => {
  const outcome = async (
    limits: object,
    length: number | undefined,
    parts: readonly (Buffer | string)[],
  ) => {
    await using server = await startUploadServer();
    await using hub = await startTestHub({ limits });
    const code = await hub.createRoom();
    await joinDirect(hub, code, { model: "m", endpoint: server.url });
    const sending = open(hub, code, length);
    for (const part of parts) sending.write(part);
    const { status, code: error } = await sending.response;
    sending.destroy();
    return error === undefined ? status : `${status} ${error}`;
  };

  test("may be as long as uploadBytes, announced or counted", async () => {
    const { sent } = aForm(mib);
    const n = sent.length;
    expect(await outcome({ uploadBytes: n }, n, [sent])).toBe(200);
    expect(await outcome({ uploadBytes: n - 1 }, n, ["-"])).toBe("413 request_too_large");
    expect(await outcome({ uploadBytes: n - 1 }, undefined, [sent])).toBe("413 request_too_large");
  });

  test("has its model within multipartHoldBytes", async () => {
    const before = file + "x".repeat(100_000) + end.slice(0, 2) + modelPart("m");
    const whole = before + end.slice(2);
    const n = before.length - 2;
    expect(await outcome({ multipartHoldBytes: n }, whole.length, [whole])).toBe(200);
    expect(await outcome({ multipartHoldBytes: n - 1 }, whole.length, [whole])).toBe(
      "400 model_part_late",
    );
  });

  test("whose client is silent for bodyIdleMs ends, and the model server's request with it", async () => {
    await using server = await startUploadServer();
    await using hub = await startTestHub({ limits: { bodyIdleMs: 1_500, bodyReadMs: 1 } });
    const code = await hub.createRoom();
    await joinDirect(hub, code, { model: "m", endpoint: server.url });
    const { sent } = aForm(mib);
    const sending = open(hub, code, sent.length);
    sending.write(sent.subarray(0, mib / 2));
    expect(await sending.response).toMatchObject({ status: 408, code: "request_read_timeout" });
    await untilForm(server, "the end", (one) => one?.state === "broken");
  });

  test("of which the tunnel is lost ends with that", async () => {
    await using server = await startUploadServer();
    await using hub = await startTestHub({ limits: { resumeMs: 0 } });
    const code = await hub.createRoom();
    const { agent } = await joinTunnel(hub, code, { model: "m", endpoint: server.url });
    const { sent } = aForm(4 * mib);
    const sending = open(hub, code, sent.length);
    sending.write(sent.subarray(0, 2 * mib));
    await untilForm(server, "the beginning", (one) => (one?.bytes ?? 0) > 1.5 * mib);
    await agent.close();
    expect(await sending.response).toMatchObject({ status: 502, code: "tunnel_lost" });
    await untilForm(server, "the end", (one) => one?.state === "broken");
    sending.destroy();
  });

  /** A room whose only slot is taken by the first half of a form. */
  async function aTakenSlot(server: { url: string; forms: ReceivedForm[] }, hub: TestHub) {
    const code = await hub.createRoom();
    const config = { maxConcurrency: 1 };
    await joinDirect(hub, code, { model: "m", endpoint: server.url, config });
    const events = await hub.watch(code, "dot", true);
    const first = aForm(mib);
    const running = open(hub, code, first.sent.length);
    running.write(first.sent.subarray(0, mib / 2));
    await untilForm(server, "the first", (one) => (one?.bytes ?? 0) > mib / 4);
    return { code, events, first, running };
  }

  test("waits at its client while all slots are taken", async () => {
    await using server = await startUploadServer();
    await using hub = await startTestHub();
    const { code, events, first, running } = await aTakenSlot(server, hub);
    const second = aForm(8 * mib);
    const waiting = open(hub, code, second.sent.length);
    waiting.write(second.sent);
    waiting.end();
    await events.next("request.queued");
    running.write(first.sent.subarray(mib / 2));
    running.end();
    expect(await running.response).toMatchObject({ status: 200 });
    expect(await waiting.response).toMatchObject({ status: 200 });
    expect(server.forms.map((form) => form.hash())).toEqual([
      sha256(first.received),
      sha256(second.received),
    ]);
  });

  test("of a client that leaves while it waits is noticed, though it is behind what the client had sent", async () => {
    await using server = await startUploadServer();
    await using hub = await startTestHub();
    const { code, events, running } = await aTakenSlot(server, hub);
    const { sent } = aForm(2 * mib);
    const waiting = open(hub, code, 6 * sent.length);
    for (let part = 0; part < 5; part++) waiting.write(part === 0 ? sent : Buffer.alloc(mib));
    await events.next("request.queued");
    waiting.destroy();
    expect((await events.next("llm.error")).data).toMatchObject({ code: "client_disconnected" });
    running.destroy();
  });

  test("streams through another hub to the home of its room, and ends there with its client", async () => {
    await using server = await startUploadServer();
    await using cluster = await startCluster(2);
    const [home, entry] = cluster.hubs as [ClusterHub, ClusterHub];
    const code = await home.createRoom();
    await joinDirect(home, code, { model: "m", endpoint: server.url });
    await cluster.linked();
    const { sent, received } = aForm(3 * mib);
    const sending = open(entry, code, sent.length);
    sending.write(sent.subarray(0, mib));
    await untilForm(server, "the beginning", (one) => (one?.bytes ?? 0) > mib / 2);
    sending.write(sent.subarray(mib));
    sending.end();
    expect(await sending.response).toMatchObject({ status: 200 });
    expect(server.forms[0]?.hash()).toBe(sha256(received));
    const leaving = open(entry, code, sent.length);
    leaving.write(sent.subarray(0, mib));
    await until(
      "the second",
      () => server.forms[1],
      (one) => (one?.bytes ?? 0) > mib / 2,
    );
    leaving.destroy();
    await untilForm(server, "the end", (one) => one?.state === "broken");
  });
});

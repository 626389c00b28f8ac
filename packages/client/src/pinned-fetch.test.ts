import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { pinOf, testCertificate } from "../../../tests/support/hub/test-certificate.ts";
import { pinnedFetch } from "./pinned-fetch.ts";

const pair = testCertificate();
const send = pinnedFetch(pinOf(pair));

async function startServer(respond: RequestListener) {
  const server = createServer(pair, respond);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("a body that is a stream", () => {
  test("arrives as it is", async () => {
    await using server = await startServer((request, response) => {
      void text(request).then((body) => response.end(body));
    });
    const body = new Blob(["to be ", "or not"]).stream();
    expect(await (await send(server.url, { method: "POST", body })).text()).toBe("to be or not");
  });

  test("fails its request with its own error", async () => {
    await using server = await startServer(() => {});
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from("to be")),
      pull: (controller) => controller.error(new Error("the disk is gone")),
    });
    await expect(send(server.url, { method: "POST", body })).rejects.toThrow("the disk is gone");
  });

  test("breaks off a response that has begun before it fails", async () => {
    const begun = Promise.withResolvers<void>();
    await using server = await startServer((_request, response) => {
      response.write("or not");
    });
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from("to be")),
      async pull(controller) {
        await begun.promise;
        controller.error(new Error("the disk is gone"));
      },
    });
    const response = await send(server.url, { method: "POST", body });
    begun.resolve();
    await expect(response.text()).rejects.toThrow();
  });

  test("is cancelled when its request is aborted", async () => {
    const arrived = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    await using server = await startServer((request) => {
      request.once("data", () => arrived.resolve());
    });
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from("to be")),
      cancel: () => cancelled.resolve(),
    });
    const abort = new AbortController();
    const sent = send(server.url, { method: "POST", body, signal: abort.signal });
    await arrived.promise;
    abort.abort();
    await expect(sent).rejects.toThrow("aborted");
    await cancelled.promise;
  });

  test("is cancelled when the server closes the connection after an early response", async () => {
    const cancelled = Promise.withResolvers<void>();
    await using server = await startServer((request, response) => {
      request.once("data", () => response.writeHead(413, { connection: "close" }).end());
    });
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from("to be")),
      cancel: () => cancelled.resolve(),
    });
    expect((await send(server.url, { method: "POST", body })).status).toBe(413);
    await cancelled.promise;
  });
});

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import {
  createServer,
  getCACertificates,
  type Server,
  setDefaultCACertificates,
  type TLSSocket,
} from "node:tls";
import { afterEach, expect, test } from "vitest";
import { httpResponse, record } from "../fake-provider.fixture.ts";
import { ProviderClient } from "./provider-client.ts";
import { certificate, key } from "./secure-call.fixture.ts";

const trusted = getCACertificates("default");
afterEach(() => setDefaultCACertificates(trusted));

const post = { method: "POST", path: "/chat/completions", body: [Buffer.from("{}")] };

/** Responds to each request. `sockets` has every one accepted so far, `isResumed` whether its session was an earlier one's. */
async function startSecureProvider() {
  const sockets: TLSSocket[] = [];
  const isResumed: boolean[] = [];
  const server: Server = createServer(
    { cert: certificate, key, ALPNProtocols: ["http/1.1"] },
    (socket) => {
      sockets.push(socket);
      isResumed.push(socket.isSessionReused());
      socket.on("error", () => {});
      socket.on("data", () => socket.write(httpResponse("{}")));
    },
  );
  server.listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    ...{ sockets, isResumed },
    baseUrl: `https://localhost:${port}/v1`,
    addressUrl: `https://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("a provider with TLS is called by its name, on a socket that is kept, and a later one resumes its session", async () => {
  setDefaultCACertificates([...trusted, certificate]);
  await using provider = await startSecureProvider();
  await using client = new ProviderClient({ connectTimeoutMs: 5_000 });
  const { baseUrl, sockets, isResumed } = provider;
  for (let call = 0; call < 2; call++) {
    const got = record(client, { ...post, baseUrl });
    await got.closed;
    expect(got).toMatchObject({ status: 200, log: ["head", "data", "end", "closed"] });
  }
  expect(sockets).toHaveLength(1);
  expect(sockets[0]).toMatchObject({ servername: "localhost", alpnProtocol: "http/1.1" });
  const closed = once(sockets[0] as TLSSocket, "close");
  sockets[0]?.end();
  await closed;
  await record(client, { ...post, baseUrl }).closed;
  expect(isResumed).toEqual([false, true]);
});

test("a certificate that is not trusted, or is another's, is named", async () => {
  await using provider = await startSecureProvider();
  await using client = new ProviderClient({ connectTimeoutMs: 5_000 });
  const untrusted = record(client, { ...post, baseUrl: provider.baseUrl });
  await untrusted.closed;
  expect(untrusted.failure?.message).toMatch(/certificate that is not trusted here \(DEPTH_ZERO/);
  setDefaultCACertificates([...trusted, certificate]);
  const other = record(client, { ...post, baseUrl: provider.addressUrl });
  await other.closed;
  expect(other.failure?.message).toMatch(/certificate for another name: .*127\.0\.0\.1/);
});

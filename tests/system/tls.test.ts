import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from "node:tls";
import { RoomhubClient } from "@roomhub/client";
import { describe, expect, test } from "vitest";
import { openaiAt, userSays } from "../support/clients/openai-client.ts";
import { sendBytes } from "../support/clients/raw-http.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { testCertificate, trust } from "../support/hub/test-certificate.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

const pair = testCertificate();
trust(pair);

async function startTlsHub(options: Parameters<typeof startTestHub>[0] = {}) {
  const hub = await startTestHub({ tls: pair, ...options });
  return Object.assign(hub, { secureUrl: `https://127.0.0.1:${hub.port}` });
}

/** A bare TLS connection, after its handshake. */
async function secured(hub: TestHub, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const at = { host: "127.0.0.1", port: hub.port, ca: pair.cert, ...options };
  const socket = connectTls(at);
  await once(socket, "secureConnect");
  return socket;
}

/** What the hub sends until it closes the connection. */
async function restOf(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (part) => {
    text += part.toString();
  });
  await once(socket, "close");
  return text;
}

describe("a hub with a certificate", () => {
  test("serves HTTP and HTTPS on one port, and each client its own scheme", async () => {
    await using hub = await startTlsHub();
    const code = await hub.createRoom();
    for (const url of [hub.url, hub.secureUrl]) {
      const page = await fetch(`${url}/rooms/${code}`, { headers: { accept: "text/html" } });
      expect(await page.text()).toContain(`${url}/rooms/${code}/v1`);
    }
  });

  test("serves a room whose participants and clients use TLS throughout", async () => {
    await using hub = await startTlsHub();
    await using provider = await startFakeProvider({});
    const code = await hub.createRoom();
    const endpoint = `http://127.0.0.1:${provider.port}/v1`;
    await using joined = await joinTunnel({ url: hub.secureUrl }, code, { id: "ada", endpoint });
    expect(joined.id).toBe("ada");
    const openai = openaiAt(`${hub.secureUrl}/rooms/${code}/v1`);
    const messages = userSays("to be or not");
    const whole = await openai.chat.completions.create({ model: "*", messages });
    expect(whole.choices[0]?.message.content).toBe("to be or not");
    let streamed = "";
    const stream = await openai.chat.completions.create({ model: "*", messages, stream: true });
    for await (const chunk of stream) streamed += chunk.choices[0]?.delta.content ?? "";
    expect(streamed).toBe("to be or not");
  });

  test("names the tunnel by the scheme of the join", async () => {
    await using hub = await startTlsHub();
    const code = await hub.createRoom();
    const registration = { id: "ada", nickname: "ada", model: "m", endpoint: "http://127.0.0.1:9" };
    const urls = [hub.url, hub.secureUrl].map(async (url) => {
      const body = JSON.stringify(registration);
      const joined = await fetch(`${url}/rooms/${code}/join`, { method: "POST", body });
      return ((await joined.json()) as { tunnel: { url: string } }).tunnel.url;
    });
    const [plain, secure] = await Promise.all(urls);
    expect([plain?.slice(0, 15), secure?.slice(0, 16)]).toEqual([
      "ws://127.0.0.1:",
      "wss://127.0.0.1:",
    ]);
  });

  test("sees the client's address behind TLS", async () => {
    await using hub = await startTlsHub();
    const code = await hub.createRoom();
    const body = JSON.stringify({
      id: "a",
      nickname: "a",
      model: "m",
      endpoint: "http://127.0.0.1:9",
    });
    await fetch(`${hub.secureUrl}/rooms/${code}/join`, { method: "POST", body });
    // Without a token: the address that joined may remove the participant, another one may not.
    await new RoomhubClient({ hubUrl: hub.secureUrl }).leave(code, "a");
    expect(await hub.client.listParticipants(code)).toEqual([]);
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)("speaks HTTP/1.1 over %s", async (version) => {
    await using hub = await startTlsHub();
    const socket = await secured(hub, {
      ...{ minVersion: version, maxVersion: version, ALPNProtocols: ["h2", "http/1.1"] },
    });
    expect([socket.getProtocol(), socket.alpnProtocol]).toEqual([version, "http/1.1"]);
    socket.write("GET /health HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n");
    expect(await restOf(socket)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("refuses TLS 1.1, and clients that speak HTTP/2 only", async () => {
    await using hub = await startTlsHub();
    const old = {
      minVersion: "TLSv1.1",
      maxVersion: "TLSv1.1",
      ciphers: "ALL@SECLEVEL=0",
    } as const;
    await expect(secured(hub, old)).rejects.toThrow(/alert|protocol/i);
    await expect(secured(hub, { ALPNProtocols: ["h2"] })).rejects.toThrow(/alert|protocol/i);
  });

  test("reads requests that arrive with the first byte, in pieces, and pipelined", async () => {
    await using hub = await startTlsHub();
    const head = "GET /health HTTP/1.1\r\nhost: h\r\n";
    const socket = connectTcp({ host: "127.0.0.1", port: hub.port });
    for (const byte of head) {
      socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.write(`\r\n${head}\r\n${head}connection: close\r\n\r\n`);
    expect((await restOf(socket)).match(/HTTP\/1\.1 200 /g)).toHaveLength(3);
  });

  test("takes a long body over both", async () => {
    await using hub = await startTlsHub();
    const code = await hub.createRoom();
    const body = JSON.stringify({ model: "none", input: "x".repeat(3_000_000) });
    for (const url of [hub.url, hub.secureUrl]) {
      const response = await fetch(`${url}/rooms/${code}/v1/embeddings`, { method: "POST", body });
      expect([response.status, await response.json()]).toMatchObject([404, { error: {} }]);
    }
  });

  test("closes connections that stay silent, or stop in the handshake or a head", async () => {
    await using hub = await startTlsHub({ limits: { headersReadMs: 50 } });
    const silent = connectTcp({ host: "127.0.0.1", port: hub.port });
    const stopped = connectTcp({ host: "127.0.0.1", port: hub.port });
    stopped.write(Buffer.from([0x16, 0x03, 0x01]));
    const closed = [silent, stopped].map(restOf);
    expect(await Promise.all(closed)).toEqual(["", ""]);
    const slow = await secured(hub);
    slow.write("GET / HTTP/1.1\r\n");
    expect(await restOf(slow)).toContain("request_read_timeout");
  });

  test("stops while connections are silent or in the handshake", async () => {
    const hub = await startTlsHub();
    const silent = connectTcp({ host: "127.0.0.1", port: hub.port });
    const stopped = connectTcp({ host: "127.0.0.1", port: hub.port });
    stopped.write(Buffer.from([0x16, 0x03, 0x01]));
    const closed = [silent, stopped, await secured(hub)].map(restOf);
    await hub.hub.close();
    expect(await Promise.all(closed)).toEqual(["", "", ""]);
  });

  test("survives bytes that are neither HTTP nor TLS", async () => {
    await using hub = await startTlsHub();
    const noise = await sendBytes(hub.port, "\x00\x01\x02\r\n\r\n");
    expect(noise.error?.code).toBe("bad_request");
    const broken = connectTcp({ host: "127.0.0.1", port: hub.port });
    broken.write(Buffer.from([0x16, 0xff, 0xff, 0xff, 0xff, 0, 0, 0]));
    await restOf(broken);
    expect((await fetch(`${hub.secureUrl}/health`)).status).toBe(200);
  });

  test("gives new connections another certificate, and keeps open ones", async () => {
    await using hub = await startTlsHub();
    const next = testCertificate();
    const before = await secured(hub);
    hub.hub.replaceCertificate(next);
    const after = await secured(hub, { ca: next.cert });
    expect(after.getPeerX509Certificate()?.toString()).toBe(next.cert);
    expect(() => hub.hub.replaceCertificate({ ...next, key: pair.key })).toThrow(/mismatch/i);
    before.write("GET /health HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n");
    expect(await restOf(before)).toMatch(/^HTTP\/1\.1 200 /);
    after.destroy();
  });
});

describe("a hub that requires TLS", () => {
  test("refuses plain HTTP with the URL to use, whatever was requested", async () => {
    await using hub = await startTlsHub({ tls: { ...pair, only: true } });
    expect(hub.url).toBe(hub.secureUrl);
    const plainUrl = `http://127.0.0.1:${hub.port}`;
    for (const [path, method] of [
      ["/health", "GET"],
      ["/v1/rooms", "POST"],
      ["/rooms/ABC234/v1/chat/completions", "POST"],
      ["/nothing", "DELETE"],
      ["/", "OPTIONS"],
    ] as const) {
      const response = await fetch(plainUrl + path, { method });
      expect([response.status, response.headers.get("upgrade")]).toEqual([
        426,
        "TLS/1.2, HTTP/1.1",
      ]);
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      expect(error.code).toBe("tls_required");
      expect(error.message).toContain(hub.secureUrl);
    }
    expect((await fetch(`${hub.secureUrl}/health`)).status).toBe(200);
  });

  test("refuses handshakes of WebSockets over plain HTTP", async () => {
    await using hub = await startTlsHub({ tls: { ...pair, only: true } });
    const handshake = `GET /v1/rooms/ABC234/responses HTTP/1.1\r\nhost: h\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`;
    const answer = await sendBytes(hub.port, handshake);
    expect([answer.status, answer.error?.code]).toEqual([426, "tls_required"]);
  });
});

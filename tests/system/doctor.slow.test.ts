import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, createServer, type AddressInfo } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { startBufferingProxy } from "../support/programs/buffering-proxy.ts";
import { hasOpenssl, makeCertificate } from "../support/programs/certificate.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinDirect, joinTunnel } from "../support/hub/joining.ts";
import { runCommand } from "../support/programs/run-command.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { within } from "../support/waiting.ts";

const launcher = fileURLToPath(new URL("../../packages/cli/bin/roomhub.js", import.meta.url));

interface Report {
  exitCode: number | null;
  ok: boolean;
  /** by name: the verdict, what was found, and the next step */
  checks: Map<string, { verdict: string; found: string; fix?: string; details?: string[] }>;
  stderr: string;
}

async function doctor(...args: string[]): Promise<Report> {
  const { exitCode, stdout, stderr } = await runCommand(process.execPath, [
    ...[launcher, "doctor", ...args, "--json"],
  ]);
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: { name: string }[] };
  return {
    exitCode,
    ok,
    stderr,
    checks: new Map(checks.map((check) => [check.name, check as never])),
  };
}

function failures({ checks }: Report): string[] {
  return [...checks].filter(([, { verdict }]) => verdict === "failed").map(([name]) => name);
}

test("a working hub, room and model: every step passes, and a few tokens are generated", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await using _ada = await joinTunnel(hub, code, { endpoint: provider.url });
  const before = provider.requests.length;

  const args = [launcher, "doctor", `${hub.url}/rooms/${code}`];
  const { exitCode, stdout, stderr } = await runCommand(process.execPath, args);
  expect(stderr).toBe("");
  expect(exitCode).toBe(0);
  const marked = stdout.split("\n").filter((line) => /^[✓✗–] /.test(line));
  expect(marked).toHaveLength(13);
  expect(marked.filter((line) => line.startsWith("✗"))).toEqual([]);
  expect(stdout).toMatch(
    /✓ request .* ada responded in \d+ ms\n {4}first byte after \d+ ms, first token after \d+ ms: provider \d+ ms, queue 0 ms, hub and network \d+ ms\n {4}complete after \d+ ms: provider \d+ ms, queue 0 ms, hub and network \d+ ms\n/,
  );
  const asked = provider.requests.slice(before).filter(({ method }) => method === "POST");
  expect(asked.map(({ json }) => json["max_tokens"])).toEqual([32]);
});

/** Responds with 20 words in 600 ms. */
function startSlowProvider() {
  return startFakeProvider({ behave: () => ({ kind: "normal", words: 20, chunkDelayMs: 30 }) });
}

test("a slow model: its response arrives incrementally", async () => {
  await using provider = await startSlowProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await using _ada = await joinTunnel(hub, code, { endpoint: provider.url });
  const report = await doctor(`${hub.url}/rooms/${code}`);
  expect(failures(report)).toEqual([]);
  expect(report.checks.get("request")?.found).toMatch(/^ada responded in \S+ \S+, incrementally$/);
});

test("a proxy that buffers only responses: the request shows it, by what the hub measured", async () => {
  await using provider = await startSlowProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await using _ada = await joinTunnel(hub, code, { endpoint: provider.url });
  await using proxy = await startBufferingProxy(hub.url, (method) => method === "POST");
  const report = await doctor(`${proxy.url}/rooms/${code}`);
  expect(failures(report)).toEqual(["tunnel", "request"]);
  expect(report.checks.get("request")?.found).toContain("a proxy in between buffers responses");
  expect(report.checks.get("request")?.fix).toContain("proxy_buffering off");
});

test("a hub that is down: its port is free, the fix starts one there, and nothing waits", async () => {
  const hub = await startTestHub();
  const { url, port } = hub;
  await hub[Symbol.asyncDispose]();
  const report = await doctor(url);
  expect(report.exitCode).toBe(5);
  expect(failures(report)).toEqual(["port"]);
  expect(report.checks.get("port")?.fix).toContain(`roomhub up --port ${port}`);
});

test("https where the hub speaks plain HTTP: the right URL is named", async () => {
  await using hub = await startTestHub();
  const report = await doctor(hub.url.replace("http:", "https:"));
  expect(report.exitCode).toBe(5);
  expect(failures(report)).toEqual(["encryption"]);
  expect(report.checks.get("encryption")?.fix).toBe(`use ${hub.url}`);
});

/** A reverse proxy with a certificate for `localhost` that no system trusts. */
async function startTlsFront(stack: AsyncDisposableStack, hubPort: number) {
  const { certificateFile, keyFile } = await makeCertificate(stack);
  const [cert, key] = await Promise.all([readFile(certificateFile), readFile(keyFile)]);
  const server = createTlsServer({ cert, key }, (client) => {
    const hub = connect(hubPort, "127.0.0.1");
    for (const socket of [client, hub]) socket.on("error", () => {});
    client.pipe(hub).pipe(client);
  });
  stack.defer(() => void server.close());
  server.listen(0, "localhost");
  await once(server, "listening");
  return { url: `https://localhost:${(server.address() as AddressInfo).port}`, certificateFile };
}

test.skipIf(!hasOpenssl)(
  "a certificate that is not trusted: the variable for its authority is named, and is enough",
  async () => {
    await using stack = new AsyncDisposableStack();
    const hub = stack.use(await startTestHub());
    const { url, certificateFile } = await startTlsFront(stack, hub.port);
    const report = await doctor(url);
    expect(report.exitCode).toBe(5);
    expect(failures(report)).toEqual(["encryption"]);
    const { found, fix } = report.checks.get("encryption") ?? {};
    expect(found).toContain("a certificate that is not trusted here (DEPTH_ZERO_SELF_SIGNED_CERT)");
    expect(fix).toContain("NODE_EXTRA_CA_CERTS=FILE");

    const variable = `NODE_EXTRA_CA_CERTS=${certificateFile}`;
    const health = [variable, process.execPath, launcher, "health", url];
    const { exitCode, stdout } = await runCommand("env", health);
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`${url} ok (roomhub `)]);
  },
);

test("the URL of a model server: it is named as one, with the line that shares it", async () => {
  await using provider = await startFakeProvider();
  const { origin } = new URL(provider.url);
  const report = await doctor(origin);
  expect(report.exitCode).toBe(5);
  expect(failures(report)).toEqual(["hub"]);
  expect(report.checks.get("hub")?.found).toContain("is a model server, not a hub: it lists ");
  expect(report.checks.get("hub")?.fix).toContain(`roomhub join --endpoint ${origin};`);
});

test("an unknown room: the existing ones are listed", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const report = await doctor(`${hub.url}/rooms/QQQQQQ`);
  expect(report.exitCode).toBe(3);
  expect(failures(report)).toEqual(["room"]);
  expect(report.checks.get("room")?.details?.join()).toContain(code);
});

test("a model server that is down: the participant reports why, and its server is named", async () => {
  const provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await provider[Symbol.asyncDispose]();
  await joinDirect(hub, code, { endpoint: provider.url });
  const report = await doctor(hub.url);
  expect(report.exitCode).toBe(1);
  expect(failures(report)).toEqual(["participants", "provider", "model"]);
  expect(report.checks.get("participants")?.details?.[0]).toContain("refused the connection");
  expect(report.checks.get("participants")?.fix).toContain(provider.url);
  expect(report.checks.get("provider")?.found).toContain(provider.url);
});

test("a proxy that buffers responses and drops WebSockets is reported", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await using _ada = await joinTunnel(hub, code, { endpoint: provider.url });
  await using proxy = await startBufferingProxy(hub.url);
  const report = await doctor(`${proxy.url}/rooms/${code}`);
  expect(failures(report)).toEqual(["tunnel", "stream"]);
  expect(report.checks.get("tunnel")?.found).toContain("drops the Upgrade header");
  expect(report.checks.get("stream")?.fix).toContain("proxy_buffering off");
  expect(report.checks.get("request")?.found).toContain("ada responded in");
});

test("Ctrl+C ends it at once, whatever it waits for", async () => {
  const silent = createServer(() => {});
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const child = spawn(process.execPath, [launcher, "doctor", `http://127.0.0.1:${port}`], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    let said = "";
    const reached = new Promise<void>((resolve) => {
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (said.includes("✓ encryption")) resolve();
      });
    });
    await within(reached, "the line before the hub's");
    child.kill("SIGINT");
    const [exitCode] = (await within(once(child, "exit"), "the end")) as [number | null];
    expect(exitCode).toBe(130);
    expect(said.split("\n")).toHaveLength(5);
  } finally {
    child.kill("SIGKILL");
    silent.close();
  }
});

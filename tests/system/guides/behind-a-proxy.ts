import { readFile } from "node:fs/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { RoomhubClient } from "@roomhub/client";
import { LIMITS } from "@roomhub/protocol";
import { expect } from "vitest";
import { parse as parseYaml } from "yaml";
import { hasCaddy, startCaddy } from "../../support/programs/caddy.ts";
import { hasOpenssl, makeCertificate } from "../../support/programs/certificate.ts";
import { readGuides, shellWords } from "../../support/documents/guide.ts";
import { type GuideLab, openGuideLab } from "../../support/documents/guide-lab.ts";
import { freePort, hasNginx, startNginx } from "../../support/programs/nginx.ts";
import { until } from "../../support/waiting.ts";
import { type Front, tryFront } from "./front.ts";
import type { BlockPlan } from "./block-plan.ts";

const guide = readGuides().find(({ path }) => path === "docs/guides/behind-a-proxy.md");
const blockOf = (begins: string) =>
  guide?.blocks.find(({ text }) => text.startsWith(begins))?.text ?? "";

const nginx = {
  begins: "map $http_upgrade",
  missing: hasNginx && hasOpenssl ? undefined : "nginx and openssl are not installed here",
  start: startGuidesNginx,
};
const caddy = {
  begins: "hub.example.org {",
  missing: hasCaddy ? undefined : "Caddy is not installed here",
  start: startGuidesCaddy,
};
/** For the lines that need any of them. */
const either = nginx.missing === undefined ? nginx : caddy;

export const behindAProxy: readonly BlockPlan[] = [
  { begins: "npx roomhub serve", follow: serveInPublic },
  {
    ...nginx,
    async follow(block) {
      expect(Number(/proxy_read_timeout (\d+)m/.exec(block)?.[1]) * 60_000).toBeGreaterThan(
        LIMITS.requestMs.default,
      );
      await using front = await openFront(nginx);
      await tryFront(front);
    },
  },
  {
    ...caddy,
    async follow() {
      await using front = await openFront(caddy);
      await tryFront(front);
    },
  },
  {
    begins: "# ~/.cloudflared/config.yml",
    cannot: "it needs an account at Cloudflare",
    follow(block) {
      const { ingress } = parseYaml(block) as { ingress: { service: string }[] };
      expect(ingress[0]?.service).toBe("http://127.0.0.1:5050");
      return Promise.resolve();
    },
  },
  { begins: "$ cloudflared", cannot: "it needs an account at Cloudflare" },
  {
    begins: "npx roomhub doctor",
    missing: either.missing,
    async follow(block) {
      await using front = await openFront(either);
      const told = await front.shell(block);
      for (const step of ["tunnel", "stream", "request"]) expect(told).toMatch(`✓ ${step}`);
    },
  },
  {
    begins: "npx roomhub join",
    missing: either.missing,
    async follow(block) {
      await using front = await openFront(either);
      await using friend = front.start(block);
      await friend.says(/connected/);
    },
  },
];

/** It hands out the public address, and nothing of its own. */
async function serveInPublic(block: string, lab: GuideLab): Promise<void> {
  await using hub = lab.start(`ROOMHUB_PORT=0 ${block}`);
  await hub.says(/the hub is ready/);
  const [url = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(hub.output) ?? [];
  const client = new RoomhubClient({ hubUrl: url });
  const { room } = await client.createRoom({ name: "lab" });
  const ada = { id: "ada", nickname: "Ada", model: "m", endpoint: lab.provider.url };
  const { tunnel } = await client.join(room.code, ada);
  expect(tunnel?.url).toMatch(/^wss:\/\/hub\.example\.org\//);
  expect(await hub.stop("SIGINT")).toBe(0);
}

interface Proxy {
  begins: string;
  /** @returns the file with the certificate that its own is signed by, perhaps not written yet */
  start: (
    block: string,
    port: number,
    hubUrl: string,
    stack: AsyncDisposableStack,
  ) => Promise<string>;
}

/** A hub as the guide starts it, behind a proxy as the guide sets it up, but for the host's name and its certificate. */
async function openFront({ begins, start }: Proxy): Promise<Front> {
  await using stack = new AsyncDisposableStack();
  const port = await freePort();
  const url = `https://localhost:${port}`;
  const words = shellWords(blockOf("npx roomhub serve").trim());
  const trustProxy = words[words.indexOf("--trust-proxy") + 1]?.split(",") ?? [];
  const client = new RoomhubClient({ hubUrl: url });
  const authority = { file: "" };
  const lab = await openGuideLab({ publicUrl: url, trustProxy }, async (hub) => {
    authority.file = await start(blockOf(begins), port, hub.url, stack);
    // The file is there before all of it is written.
    const certificate = await until(
      "the certificate",
      () => readFile(authority.file, "utf8").catch(() => ""),
      (text) => text.includes("END CERTIFICATE"),
    );
    trust(certificate, stack);
    await until(
      "the proxy to answer",
      () => client.health().catch(() => undefined),
      (health) => health?.status === "ok",
    );
  });
  stack.use(lab);
  const here = (text: string) =>
    `export NODE_EXTRA_CA_CERTS='${authority.file}'\n${text.replace("https://hub.example.org", url)}`;
  const owned = stack.move();
  return {
    url,
    lab,
    client,
    shell: (text) => lab.shell(here(text)),
    start: (text) => lab.start(here(text)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Whatever this process dials, for as long as the stack lasts. */
function trust(certificate: string, stack: AsyncDisposableStack): void {
  const usual = getCACertificates("default");
  setDefaultCACertificates([...usual, certificate]);
  stack.defer(() => setDefaultCACertificates(usual));
}

async function startGuidesNginx(
  block: string,
  port: number,
  hubUrl: string,
  stack: AsyncDisposableStack,
): Promise<string> {
  const { certificateFile, keyFile } = await makeCertificate(stack);
  const here = block
    .replace("listen 443 ", `listen 127.0.0.1:${port} `)
    .replace(/(ssl_certificate +).*;/, `$1${certificateFile};`)
    .replace(/(ssl_certificate_key +).*;/, `$1${keyFile};`)
    .replace("http://127.0.0.1:5050", hubUrl);
  await startNginx(here, stack);
  return certificateFile;
}

function startGuidesCaddy(
  block: string,
  port: number,
  hubUrl: string,
  stack: AsyncDisposableStack,
): Promise<string> {
  const here = block
    .replace("hub.example.org {", `https://localhost:${port} {\n\tbind 127.0.0.1\n\ttls internal`)
    .replace("127.0.0.1:5050", new URL(hubUrl).host);
  return startCaddy(here, stack);
}

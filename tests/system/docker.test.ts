import { RoomhubClient } from "@roomhub/client";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_PORT } from "@roomhub/hub";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { checkVariables, settingsFromEnv } from "../../packages/cli/src/environment.ts";
import { startHubProcess } from "../support/programs/roomhub-process.ts";
import { runCommand } from "../support/programs/run-command.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { until } from "../support/waiting.ts";

/** Nothing here starts a container: these files must agree with the program they are about. */
const root = new URL("../../", import.meta.url);
const dockerfile = textOf("Dockerfile");
const compose = textOf("compose.yaml");

function textOf(path: string): string {
  return readFileSync(new URL(path, root), "utf8");
}

/** The values of the lines with this beginning, in order. */
function instructions(name: string): string[] {
  return [...dockerfile.matchAll(new RegExp(`^${name} (.+)$`, "gm"))].map(([, rest]) => rest ?? "");
}

function fromCheckout(): string[] {
  return instructions("COPY")
    .filter((line) => !line.startsWith("--from="))
    .flatMap((line) => line.split(" ").slice(0, -1));
}

test("the image copies only existing paths, and the build context includes them", () => {
  expect(fromCheckout().filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  const ignored = textOf(".dockerignore").split("\n");
  expect(ignored).toContain("*");
  const kept = ignored.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  expect(fromCheckout().filter((path) => !kept.includes(path.split("/")[0] ?? ""))).toEqual([]);
});

test("npm finds every package of the workspace before it installs", () => {
  const manifests = readdirSync(new URL("packages/", root)).map(
    (name) => `packages/${name}/package.json`,
  );
  expect(fromCheckout()).toEqual(expect.arrayContaining(manifests));
});

test("the image's Node is new enough, and its command is the one of the package", () => {
  const { engines, bin } = JSON.parse(textOf("packages/cli/package.json")) as {
    engines: { node: string };
    bin: Record<string, string>;
  };
  const needed = Number(/(\d+)/.exec(engines.node)?.[1]);
  const images = instructions("FROM").map((line) =>
    Number(/^(?:--platform=\$BUILDPLATFORM )?node:(\d+)-slim/.exec(line)?.[1]),
  );
  expect(images.every((major) => major > needed)).toBe(true);
  expect(instructions("ENTRYPOINT")).toEqual([JSON.stringify(Object.keys(bin))]);
  expect(dockerfile).toContain(`ln -s /roomhub/${bin["roomhub"]} /usr/local/bin/roomhub`);
});

function imageVariables(): Record<string, string> {
  return Object.fromEntries(instructions("ENV").map((line) => line.split("=") as [string, string]));
}

test("variables of the image and of compose are the program's, with values it takes", () => {
  const env = imageVariables();
  checkVariables(env, []);
  expect(settingsFromEnv(env)).toEqual({
    host: "0.0.0.0",
    mdns: false,
    stateFile: "/var/lib/roomhub/rooms.json",
    distrustGateway: true,
  });
  const [volume = "nowhere"] = instructions("VOLUME");
  expect(env["ROOMHUB_STATE_FILE"]).toContain(`${volume}/`);
  expect(compose).toContain(`rooms:${volume}`);
  const named = [...compose.matchAll(/^ +(ROOMHUB_\w+):/gm)].map(([, name]) => name ?? "");
  expect(named).not.toEqual([]);
  checkVariables(Object.fromEntries(named.map((name) => [name, "x"])), []);
});

test("the port is the program's own", () => {
  expect(instructions("EXPOSE")).toEqual([String(DEFAULT_PORT)]);
  expect(dockerfile).toContain(`\${ROOMHUB_PORT:-${DEFAULT_PORT}}`);
  expect(compose).toContain(`"${DEFAULT_PORT}:${DEFAULT_PORT}"`);
  expect(compose).toContain(`http://hub:${DEFAULT_PORT}/rooms/`);
});

test("compose's participant has options that `join` knows", async () => {
  const launcher = fileURLToPath(new URL("packages/cli/bin/roomhub.js", root));
  const help = await runCommand(process.execPath, [launcher, "join", "--help"]);
  const used = [...compose.matchAll(/^ +- (--[\w-]+)$/gm)].map(([, option]) => option ?? "");
  expect(used.length).toBeGreaterThan(2);
  expect(used.filter((option) => !help.stdout.includes(`${option} `))).toEqual([]);
});

test("a participant that joins the image's hub by curl alone stays online with heartbeats", async () => {
  await using folder = await temporaryFolder();
  await using provider = await startFakeProvider();
  const [command, ...args] = JSON.parse(instructions("CMD")[0] ?? "[]") as string[];
  expect(command).toBe("serve");
  await using hub = await startHubProcess(args, {
    ...imageVariables(),
    // The address, port and folder of the test; the silence limit is shorter.
    ROOMHUB_HOST: "127.0.0.1",
    ROOMHUB_PORT: "0",
    ROOMHUB_STATE_FILE: join(folder.path, "rooms.json"),
    ROOMHUB_OFFLINE_AFTER_MS: "1s",
  });
  const post = async (path: string, body: unknown): Promise<number> =>
    (await fetch(hub.url + path, { method: "POST", body: JSON.stringify(body) })).status;
  const client = new RoomhubClient({ hubUrl: hub.url });
  const { room } = await client.createRoom({ name: "lab" });
  const person = { nickname: "Ada", model: "fake-model", endpoint: provider.url };
  expect(await post(`/rooms/${room.code}/join`, { ...person, id: "beats" })).toBe(201);
  expect(await post(`/rooms/${room.code}/join`, { ...person, id: "silent" })).toBe(201);
  const seen = new Set<number>();
  const listed = await until(
    "the silence limit",
    async () => {
      seen.add(await post(`/rooms/${room.code}/health`, { id: "beats" }));
      return client.listParticipants(room.code);
    },
    (all) => all.some(({ id, status }) => id === "silent" && status === "offline"),
  );
  expect([...seen]).toEqual([200]);
  expect(listed.find(({ id }) => id === "beats")?.status).toBe("online");
  const chat = { model: "beats", messages: [{ role: "user", content: "hi" }] };
  expect(await post(`/rooms/${room.code}/v1/chat/completions`, chat)).toBe(200);
});

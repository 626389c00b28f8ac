import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import {
  aPresence,
  aStoredRoom,
  Replica,
} from "../../../packages/hub/src/cluster/directory-compliance.fixture.ts";
import { aRegistration } from "../../../packages/hub/src/cluster/homes/registration.fixture.ts";
import {
  NatsDirectory,
  type NatsDirectoryOptions,
} from "../../../packages/hub/src/cluster/nats/nats-directory.ts";
import { hasOpenssl, makeCertificate } from "../../support/programs/certificate.ts";
import { startCluster } from "../../support/hub/start-cluster.ts";
import { hasHaproxy, startHaproxy } from "../../support/programs/haproxy.ts";
import { hasNatsServer, startNatsServer } from "../../support/programs/nats-server.ts";
import { temporaryFolder } from "../../support/programs/temporary-folder.ts";
import type { BlockPlan } from "./block-plan.ts";

const login = "hub:change-this-password";

export const cluster: readonly BlockPlan[] = [
  { begins: "openssl rand", cannot: "it writes into the working directory" },
  { begins: "export ROOMHUB_NATS", cannot: "it is for several machines" },
  {
    begins: "npx roomhub rooms import",
    cannot: "it is about the user's own hub; a test of its own imports rooms",
  },
  {
    begins: "# /etc/haproxy/haproxy.cfg",
    missing: hasHaproxy ? undefined : "haproxy is not installed",
    follow: balance,
  },
  { begins: "map $uri $room", cannot: "it is a part of a server's configuration" },
  {
    begins: "# /etc/nats-server.conf",
    missing: hasNatsServer && hasOpenssl ? undefined : "nats-server and openssl are not installed",
    follow: useAllPermissions,
  },
  {
    begins: 'jetstream {\n  store_dir: "/var/lib/nats"\n  sync_interval',
    cannot: "it needs nats-server 2.10",
  },
];

/** The guide's own configuration, with the port and the hubs of this machine. */
async function balance(block: string): Promise<void> {
  await using cluster = await startCluster(3);
  await using stack = new AsyncDisposableStack();
  const hosts = cluster.hubs.map(({ url }) => new URL(url).host);
  const url = await startHaproxy(hosts, stack, (port) =>
    hosts.reduce(
      (text, host, n) => text.replace(`10.0.0.1${n + 1}:5050`, host),
      block
        .replace(/bind .*/, `bind 127.0.0.1:${port}`)
        .replace("option httpchk", "http-response set-header x-asked %s\n  option httpchk"),
    ),
  );
  const askedBy = async (path: string) => {
    const response = await fetch(url + path);
    expect(response.status).toBe(200);
    await response.text();
    return response.headers.get("x-asked") ?? "";
  };
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ name: "lab" });
  const homes = new Set<string>();
  for (let n = 0; n < 12; n++) {
    const created = await fetch(`${url}/rooms`, { method: "POST", headers, body });
    const { room } = (await created.json()) as { room: { code: string } };
    const paths = [
      `/rooms/${room.code}`,
      `/rooms/${room.code.toLowerCase()}/v1/models`,
      `/v1/rooms/${room.code}/participants`,
    ];
    const asked = new Set(await Promise.all(paths.map(askedBy)));
    expect(asked.size).toBe(1);
    for (const hub of asked) homes.add(hub);
  }
  expect(homes.size).toBeGreaterThan(1);
  // What has no room is asked of each in turn.
  const others = await Promise.all(Array.from({ length: 6 }, () => askedBy("/health")));
  expect(new Set(others).size).toBe(3);
}

/** All that hubs do, with the account as the guide sets it up, and nothing that they do not. */
async function useAllPermissions(block: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const { certificateFile, keyFile } = await makeCertificate(stack);
  const text = block
    .replace("/etc/nats/certificate.pem", certificateFile)
    .replace("/etc/nats/key.pem", keyFile)
    // It is given to the program, which takes it once.
    .replace(/ *store_dir: .*/, "");
  const config = join(stack.use(await temporaryFolder()).path, "nats.conf");
  await writeFile(config, text);
  const { port } = stack.use(await startNatsServer(["-c", config]));
  const url = `tls://${login}@localhost:${port}`;
  const warnings: string[] = [];

  const open = async (options: Partial<NatsDirectoryOptions> = {}) => {
    const onWarning = (message: string) => warnings.push(message);
    const tls = { caFile: certificateFile };
    const directory = new NatsDirectory({ servers: [url], tls, onWarning, ...options });
    stack.defer(() => directory.close());
    const replica = new Replica();
    await directory.open(replica);
    return { directory, replica };
  };

  const actions: (() => void)[] = [];
  let nowMs = 0;
  const every = (_intervalMs: number, action: () => void) => {
    actions.push(action);
    return () => {};
  };
  const one = await open({ every, nowMs: () => nowMs });
  const other = await open();
  one.directory.announce(() => aPresence("00000000000000aa"));
  await other.replica.until("the hub", () => other.replica.hubs.size === 1);
  const revision = (await one.directory.putRoom(aStoredRoom("AB23CD"), 0)) ?? 0;
  await expect(other.directory.readRoom("AB23CD")).resolves.toMatchObject({ revision });
  const home = { hubId: "00000000000000aa", bootId: "00000001", epoch: 1 };
  const homeRevision = (await one.directory.putHome("AB23CD", home, 0)) ?? 0;
  await other.replica.until("the home", () => other.replica.homes.size === 1);
  await expect(other.directory.readHome("AB23CD")).resolves.toMatchObject({ home });
  await one.directory.putRegistration(aRegistration("AB23CD", "ada"));
  await one.directory.putRegistration(aRegistration("AB23CD", "bob"));
  await one.directory.deleteRegistration("AB23CD", "bob");
  await expect(other.directory.readRegistrations("AB23CD")).resolves.toMatchObject([{ id: "ada" }]);
  await one.directory.deleteRoom("AB23CD", revision);
  await other.replica.until("the deletion", () => other.replica.rooms.size === 0);
  await one.directory.deleteHome("AB23CD", homeRevision);
  await one.replica.until("that of the home", () => one.replica.homes.size === 0);
  nowMs += 24 * 3_600_000;
  // The removal of what marks the deletions is one of them: that of the room is requested before the room is made again.
  for (const action of actions) action();
  await one.directory.putRoom(aStoredRoom("AB23CD"), 0);
  const late = await open();
  expect(late.replica.rooms.size).toBe(1);
  await one.directory.close();
  await other.replica.until("its end", () => other.replica.left.length === 1);
  expect(warnings).toEqual([]);

  // And it is an account of few permissions.
  const elsewhere = new NatsDirectory({
    ...{ servers: [url], prefix: "other", tls: { caFile: certificateFile } },
  });
  await expect(elsewhere.open(new Replica())).rejects.toThrow(/no JetStream/);
  await elsewhere.close();
  const unchecked = new NatsDirectory({ servers: [url] });
  await expect(unchecked.open(new Replica())).rejects.toThrow(/certificate/);
  await unchecked.close();
}

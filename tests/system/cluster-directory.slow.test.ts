import { systemWorld } from "@roomhub/protocol";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  describeDirectory,
  type DirectoryLab,
} from "../../packages/hub/src/cluster/directory-compliance.fixture.ts";
import type { ClusterDirectory } from "../../packages/hub/src/cluster/directory.ts";
import { openBuckets } from "../../packages/hub/src/cluster/nats/buckets.ts";
import { connectToNats } from "../../packages/hub/src/cluster/nats/nats-connection.ts";
import { describeHomes } from "../../packages/hub/src/cluster/homes/homes-compliance.fixture.ts";
import {
  NatsDirectory,
  type NatsDirectoryOptions,
} from "../../packages/hub/src/cluster/nats/nats-directory.ts";
import {
  hasNatsServer,
  natsSkipped,
  startNatsServer,
  type NatsServer,
} from "../support/programs/nats-server.ts";
import { openTcpGate, type TcpGate } from "../support/programs/tcp-gate.ts";

function newPrefix(): string {
  return `test_${randomUUID().slice(0, 8)}`;
}

/** Reconnects within 80 ms. */
function aDirectory(url: string, options: Partial<NatsDirectoryOptions> = {}): NatsDirectory {
  const world = { ...systemWorld, random: () => Math.random() * 0.02 };
  return new NatsDirectory({ servers: [url], world, ...options });
}

describe.skipIf(!hasNatsServer)(`with nats-server${natsSkipped}`, () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startNatsServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  async function createLab(): Promise<DirectoryLab> {
    const prefix = newPrefix();
    const gates = new Map<ClusterDirectory, TcpGate>();
    const spare: TcpGate[] = await Promise.all(
      Array.from({ length: 4 }, () => openTcpGate(server.port)),
    );
    return {
      directory(onWarning) {
        const gate = spare.pop();
        if (gate === undefined) throw new Error("the lab has no more gates");
        const directory = aDirectory(`nats://127.0.0.1:${gate.port}`, { prefix, onWarning });
        gates.set(directory, gate);
        return directory;
      },
      cutOff: async (directory) => gates.get(directory)?.close(),
      heal: async (directory) => gates.get(directory)?.open(),
      async close() {
        const all = [...gates.values(), ...spare];
        await Promise.all(all.map((gate) => gate[Symbol.asyncDispose]()));
      },
    };
  }

  test("hubs that start at once with an empty server all open its buckets", async () => {
    const access = { servers: [`nats://127.0.0.1:${server.port}`] };
    const options = { name: "test", inboxPrefix: "_INBOX_test", random: () => 0 };
    const clients = await Promise.all(
      Array.from({ length: 10 }, () => connectToNats(access, options)),
    );
    // The server refuses one in about a hundred.
    for (let round = 0; round < 100; round++) {
      const prefix = newPrefix();
      const open = clients.map((client) => openBuckets(client, prefix, "memory"));
      const opening = Promise.all(open);
      await expect(opening).resolves.toHaveLength(clients.length);
    }
    await Promise.all(clients.map(({ connection }) => connection.close()));
  });

  describeDirectory("NATS", createLab);
  describeHomes("NATS", createLab);
});

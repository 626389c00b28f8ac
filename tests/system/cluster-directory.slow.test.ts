import { systemWorld } from "@roomhub/protocol";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import {
  describeDirectory,
  type DirectoryLab,
} from "../../packages/hub/src/cluster/directory-compliance.fixture.ts";
import type { ClusterDirectory } from "../../packages/hub/src/cluster/directory.ts";
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

  describeDirectory("NATS", createLab);
  describeHomes("NATS", createLab);
});

import { systemWorld } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { AuthHeaderVault } from "../credentials/vault.ts";
import { aParticipant } from "../domain/room.fixture.ts";
import { MachineAddresses } from "./direct/policy.ts";
import { UpstreamDirectory } from "./directory.ts";
import { TunnelRegistry } from "./tunnel/registry.ts";

function createDirectory(): UpstreamDirectory {
  const nowMs = () => 0;
  return new UpstreamDirectory({
    tunnels: new TunnelRegistry(),
    vault: new AuthHeaderVault(),
    isDirectEnabled: true,
    addresses: new MachineAddresses(() => [], nowMs),
    ...{ connectTimeoutMs: 1_000, probeTimeoutMs: 1_000, loadingMs: 1_000 },
    world: { ...systemWorld, monotonicMs: nowMs },
    isPresent: () => true,
    report: () => {},
  });
}

test("an endpoint that the hub may call is not called while a lost connection may come back", async () => {
  const directory = createDirectory();
  const before = { readiness: "ready", problem: "", sinceMs: 0 } as const;
  const ana = aParticipant({ id: "ana" });
  expect(directory.upstreamFor(ana)).toBeDefined();
  ana.paths.tunnel = { kind: "interrupted", streams: 1, sinceMs: 0, before };
  expect(directory.upstreamFor(ana)).toBeUndefined();
  ana.paths.tunnel = { kind: "closed" };
  expect(directory.upstreamFor(ana)).toBeDefined();
  await directory.close();
});

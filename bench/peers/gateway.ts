import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Target } from "../load/target.ts";
import type { BenchWorld } from "../processes/world.ts";
import { freePort, portOpened } from "./peer.ts";

const folder = fileURLToPath(new URL("../.peers/", import.meta.url));
const entry = join(folder, "node_modules", "@portkey-ai", "gateway", "build", "start-server.js");

/** `@portkey-ai/gateway`, with the target address in its headers. @returns undefined when it is not installed */
export async function startGateway(world: BenchWorld): Promise<Target | undefined> {
  if (!existsSync(entry)) return undefined;
  const [port, provider] = await Promise.all([freePort(), world.provider()]);
  const child = world.children.command(
    [process.execPath, entry, `--port=${port}`, "--headless"],
    world.path("gateway.log"),
    // It only forwards requests to addresses it trusts.
    { TRUSTED_CUSTOM_HOSTS: "127.0.0.1,localhost" },
  );
  await portOpened(port, "the gateway");
  return {
    ...provider.target,
    ...{ name: "npm gateway", port, pid: child.pid, isTransparent: false },
    headers: { "x-portkey-provider": "openai", "x-portkey-custom-host": provider.url },
  };
}

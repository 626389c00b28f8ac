import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedNats } from "./embedded-nats.ts";
import { findNatsServer } from "./nats-binary.ts";

/** A nats-server for the workers of one command, and the secret of their cluster. */
export interface OwnNats {
  /** for the workers */
  env: Record<string, string>;
  close(): Promise<void>;
}

export interface OwnNatsOptions {
  /** where it keeps rooms; undefined: in a folder that goes with it */
  folder: string | undefined;
  onWarning: (message: string) => void;
}

export type StartOwnNats = (options: OwnNatsOptions) => Promise<OwnNats>;

/** @throws CommandError when nats-server is not installed, or does not start */
export const startOwnNats: StartOwnNats = async ({ folder: kept, onWarning }) => {
  const binary = await findNatsServer(process.env["PATH"]);
  const folder = kept ?? (await mkdtemp(join(tmpdir(), "roomhub-workers-")));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const server = await startEmbeddedNats({ binary, folder, onWarning });
  const secretPath = join(folder, "cluster-secret");
  // A new one at each start: all that know it start with this command.
  await rm(secretPath, { force: true });
  await writeFile(secretPath, randomBytes(32).toString("hex"), { flag: "wx", mode: 0o600 });
  return {
    env: { ROOMHUB_NATS: server.url, ROOMHUB_CLUSTER_SECRET_FILE: secretPath },
    async close() {
      await server.close();
      await rm(kept === undefined ? folder : secretPath, { recursive: true, force: true });
    },
  };
};

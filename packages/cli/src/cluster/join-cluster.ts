import type { CliContext } from "../context.ts";
import { CommandError, EXIT, readable, UsageError } from "../exit-code.ts";
import type { HubConfig } from "../hosting/hub-config.ts";
import type { HubSettings } from "../hosting/hub-settings.ts";
import { isWildcard, urlOf } from "../rooms/hub-address.ts";
import { directoryOf, shownNatsUrl, warningsOf } from "./cluster-directory.ts";

const secretBytes = 32;
const needNats = [
  ...["advertise", "linkUrl", "clusterSecretFile"],
  ...["natsCreds", "natsCa", "natsCert"],
] as const satisfies readonly (keyof HubSettings)[];

/**
 * What a hub with these settings needs to be one of a cluster.
 *
 * @param host - where it listens
 * @returns undefined when it is alone
 * @throws UsageError for settings that do not fit together
 * @throws CommandError when a file cannot be used
 */
export async function joinCluster(
  context: CliContext,
  { settings }: HubConfig,
  host: string | undefined,
  port: number,
) {
  const { nats, advertise, linkUrl, clusterSecretFile } = settings;
  if (nats.value === undefined) {
    const given = needNats.find((name) => settings[name].value !== undefined);
    if (given === undefined) return undefined;
    throw new UsageError(`${flagOf(given)} is for a hub in a cluster; also pass --nats URL`);
  }
  const urls = nats.value;
  if (clusterSecretFile.value === undefined) {
    throw new UsageError(
      "--nats needs --cluster-secret-file, the same at all hubs; make one: openssl rand -hex 32",
    );
  }
  if (advertise.value === undefined && isWildcard(host)) {
    throw new UsageError(
      "--nats needs --advertise URL when the hub listens on every address: how others reach this hub",
    );
  }
  const warn = warningsOf(context);
  const secret = await readSecret(context, clusterSecretFile.value, warn);
  const directory = await directoryOf(context, settings, {
    storage: settings.ephemeral.value === true ? "memory" : "file",
    name: `roomhub ${advertise.value ?? urlOf(host ?? "127.0.0.1", port)}`,
  });
  // Unknown until it listens, when the system chooses the port.
  const listenUrl =
    port === 0 ? undefined : urlOf(host ?? "127.0.0.1", port, settings.tlsOnly.value);
  const advertiseUrl = withoutSlash(advertise.value ?? listenUrl);
  return {
    options: {
      ...{ directory, secret, advertiseUrl },
      linkUrl: withoutSlash(linkUrl.value),
    },
    /** without passwords */
    servers: urls.map(shownNatsUrl),
  };
}

function withoutSlash(url: string | undefined): string | undefined {
  return url?.replace(/\/+$/, "");
}

async function readSecret(
  context: CliContext,
  path: string,
  warn: (message: string) => void,
): Promise<Uint8Array> {
  const { bytes, isReadableByOthers } = await readable(
    `The file ${path}`,
    context.readSecretFile(path),
  );
  const secret = withoutLineEnd(bytes);
  if (secret.length < secretBytes) {
    throw new CommandError(
      `The cluster's secret in ${path} is ${secret.length} bytes long, and needs at least ${secretBytes}`,
      `make one: openssl rand -hex 32 > ${path}`,
      EXIT.usage,
    );
  }
  if (isReadableByOthers)
    warn(`Others can read the cluster's secret, and with it take part: chmod 600 ${path}`);
  return secret;
}

/** An editor ends a text with a line end, which other hubs' copies may not have. */
function withoutLineEnd(bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes).toString("latin1");
  return /^[\x20-\x7e]+\r?\n$/.test(text) ? Buffer.from(text.trimEnd(), "latin1") : bytes;
}

function flagOf(name: keyof HubSettings): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { root } from "./guide.ts";

/** A service of a compose file, in the spelling that the files of this repository use. */
export interface ComposeService {
  build?: string;
  image?: string;
  command: string[];
  environment?: Record<string, string>;
  ports?: string[];
  /** `./file:/target:ro` or `volume:/target` */
  volumes?: string[];
  secrets?: (string | { source: string; target: string })[];
  stop_grace_period?: string;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  networks?: { default: { ipv4_address: string } };
}

export interface ComposeFile {
  services: Record<string, ComposeService>;
  secrets: Record<string, { file: string }>;
  volumes: Record<string, unknown>;
  networks: { default: { ipam: { config: { subnet: string; ip_range: string }[] } } };
}

/**
 * A compose file as `docker compose` reads it: with anchors merged and variables replaced.
 *
 * @param variables - as of `.env`
 */
export function readComposeFile(path: string, variables: Record<string, string>): ComposeFile {
  const text = readFileSync(join(root, path), "utf8");
  const replaced = (_key: unknown, value: unknown) =>
    typeof value === "string" ? interpolate(value, variables) : value;
  return parse(text, replaced, { merge: true }) as ComposeFile;
}

/** `${NAME}`, `${NAME:-default}` and `${NAME:?what is missing}`. */
function interpolate(text: string, variables: Record<string, string>): string {
  return text.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_all, name: string, ...rest) => {
    const [kind, word = ""] = rest as (string | undefined)[];
    const value = variables[name] ?? "";
    if (value !== "") return value;
    if (kind === "?") throw new Error(`${name} is not set: ${word}`);
    return kind === "-" ? word : "";
  });
}

/** `40s` of `stop_grace_period`, in ms. */
export function durationMs(text: string | undefined): number {
  const [, count = "0", unit = ""] = /^(\d+)(s|m)$/.exec(text ?? "") ?? [];
  return Number(count) * (unit === "m" ? 60_000 : 1_000);
}

/** What the Dockerfile sets, and the file over it, without what is empty. */
export function environmentOf({ environment = {} }: ComposeService): Record<string, string> {
  const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
  const image = [...dockerfile.matchAll(/^ENV (ROOMHUB_\w+)=(.+)$/gm)].map(
    ([, name = "", value = ""]) => [name, value] as const,
  );
  const all = Object.entries({ ...Object.fromEntries(image), ...environment });
  return Object.fromEntries(all.filter(([, value]) => value !== ""));
}

import { InvalidHubUrlError, type Invite, normaliseHubUrl, parseInvite } from "@roomhub/client";
import { type LimitName, limitEnvName, LIMITS, type Limits } from "@roomhub/protocol";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { CliContext } from "./context.ts";
import { UsageError } from "./exit-code.ts";

const defaultHubUrl = "http://127.0.0.1:5050";

/** What every command that talks to a hub takes. */
export interface HubOptionValues {
  hub: string;
  json?: boolean;
}

export function addHubOptions(command: Command): Command {
  return addJsonOption(
    command.addOption(
      new Option("--hub <url>", "the hub")
        .env("ROOMHUB_URL")
        .default(defaultHubUrl)
        .argParser(hubUrlArgument),
    ),
  );
}

export function addJsonOption(command: Command): Command {
  return command.option("--json", "print JSON for programs");
}

/** A room code, or an invite URL that names its hub too. */
export function inviteOf(room: string, options: HubOptionValues): Invite {
  return parseInvite(room, options.hub);
}

/** @throws InvalidArgumentError, which commander renders with the option's name */
export function portArgument(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) {
    throw new InvalidArgumentError("A port is a number from 0 to 65535.");
  }
  return port;
}

export function positiveArgument(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1) {
    throw new InvalidArgumentError("Must be a whole number of at least 1.");
  }
  return value;
}

export function jsonObjectArgument(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidArgumentError(`Must be JSON, like '{"gpu":"RTX 4090"}'.`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidArgumentError("Must be a JSON object.");
  }
  return value as Record<string, unknown>;
}

export function listArgument(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Collects a repeatable option. */
export function collect(text: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), text];
}

/**
 * A switch that an environment variable may set too. The variable's text decides: `ROOMHUB_LAN=0` is off.
 */
export function isSwitchedOn(
  context: CliContext,
  flag: boolean | undefined,
  envName: string,
): boolean {
  if (flag !== undefined) return flag;
  const text = (context.env[envName] ?? "").toLowerCase();
  if (["1", "true", "yes", "on"].includes(text)) return true;
  if (["", "0", "false", "no", "off"].includes(text)) return false;
  throw new UsageError(`${envName} must be 1 or 0, not "${text}"`);
}

/** A variable that is set to nothing, as compose files do it, counts as not set. */
export function dropEmptyVariables(env: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(env)) {
    if (name.startsWith("ROOMHUB_") && value === "") delete env[name];
  }
}

/** The limits that the environment overrides: `ROOMHUB_QUEUE_WAIT_MS=5000`. Contract §6. */
export function limitsFromEnv(env: CliContext["env"]): Partial<Limits> {
  const limits: Partial<Limits> = {};
  for (const name of Object.keys(LIMITS) as LimitName[]) {
    const text = env[limitEnvName(name)];
    if (text === undefined || text === "") continue;
    const value = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
      throw new UsageError(`${limitEnvName(name)} must be a whole number, not "${text}"`);
    }
    limits[name] = value;
  }
  if (env["ROOMHUB_INFORMATIONAL"]?.toLowerCase() === "off") limits.informationalMs = 0;
  return limits;
}

function hubUrlArgument(text: string): string {
  try {
    return normaliseHubUrl(text);
  } catch (error) {
    if (error instanceof InvalidHubUrlError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}

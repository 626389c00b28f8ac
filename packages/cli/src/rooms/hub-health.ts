import type { Invite } from "@roomhub/client";
import { type HealthResponse, isLoopbackHost, joinLine, timeoutSignal } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { safe } from "../terminal/text.ts";

/** The health of the hub at a URL; undefined when nothing there responds in time as a hub does. */
export async function healthOf(
  context: CliContext,
  hubUrl: string,
  timeoutMs: number,
): Promise<HealthResponse | undefined> {
  try {
    const signal = timeoutSignal(context.world, timeoutMs);
    const health = await context.createClient(hubUrl).health({ signal });
    // A hub's own word for its key counts only on this machine, where no one can be in between.
    const said = isLoopbackHost(new URL(hubUrl).hostname) ? health.pin : undefined;
    return { ...health, pin: (await context.pins.of(hubUrl)) ?? said };
  } catch {
    // What it would say is left out; another request of the command fails with the reason.
    return undefined;
  }
}

/**
 * Prints one line when the hub's program is newer than this one, and the hub hands it out: `npx` keeps what it once got from a
 * URL, so the line has the version in it. Contract §7. Never throws, so the command continues in any case.
 */
export async function reportNewerHub(context: CliContext, invite: Invite): Promise<void> {
  const { hubUrl, room } = invite;
  const health = await healthOf(context, hubUrl, 3_000);
  if (health?.handout !== true || !isOlder(context.version, health.version)) return;
  const { version, pin } = health;
  const line = joinLine({ hubUrl, isHandedOut: true, pin }, room, version);
  context.stderr.write(
    `! The hub runs roomhub ${safe(version)}, this is ${context.version}; to use the hub's: ${line}\n`,
  );
}

/** Compares versions as https://semver.org/#spec-item-11 orders them. @returns false when one is not a version */
export function isOlder(one: string, other: string): boolean {
  const left = parse(one);
  const right = parse(other);
  if (left === undefined || right === undefined) return false;
  for (const [index, number] of left.numbers.entries()) {
    const difference = number - (right.numbers[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return left.isBeforeRelease && !right.isBeforeRelease;
}

/** Pre-releases of the same version are not compared with each other. */
function parse(version: string): { numbers: number[]; isBeforeRelease: boolean } | undefined {
  const [, numbers, before] =
    /^(\d{1,9}\.\d{1,9}\.\d{1,9})(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/.exec(version) ?? [];
  if (numbers === undefined) return undefined;
  return { numbers: numbers.split(".").map(Number), isBeforeRelease: before !== undefined };
}

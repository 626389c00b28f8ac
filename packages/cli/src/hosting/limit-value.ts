import { LIMIT_NAMES, type LimitName, limitProblem, LIMITS, type Limits } from "@roomhub/protocol";
import { UsageError } from "../exit-code.ts";
import { meantSetting, nearest } from "../terminal/nearest.ts";

/** Units from small to large. A number without a unit has the first one. */
const units = {
  ms: { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 },
  bytes: {
    B: 1,
    kB: 1_000,
    KiB: 1_024,
    MB: 1_000_000,
    MiB: 1_048_576,
    GB: 1_000_000_000,
    GiB: 1_073_741_824,
  },
  count: {},
} as const;

/** Units for printing: 65536 bytes are shown as 64KiB. */
const printed = { ms: ["d", "h", "min", "s"], bytes: ["GiB", "MiB", "KiB"], count: [] } as const;

/**
 * `64MiB`, `30s`, `10min`, or a plain number in the limit's own unit.
 *
 * @param where - the source of the text, for the message: `ROOMHUB_ROOMS`, `--limit rooms`
 * @throws UsageError
 */
export function parseLimitValue(name: LimitName, text: string, where: string): number {
  const { unit } = LIMITS[name];
  const [, number = "", suffix = ""] = /^(\d+(?:\.\d+)?) ?([A-Za-z]*)$/.exec(text.trim()) ?? [];
  const factor =
    suffix === ""
      ? 1
      : Object.entries(units[unit]).find(
          ([known]) => known.toLowerCase() === suffix.toLowerCase(),
        )?.[1];
  if (number === "" || factor === undefined) {
    throw new UsageError(`${where} must be ${expectedOf(name)}, not "${text}"`);
  }
  // Rounded so that 1.1 s is exactly 1100 ms.
  const value = Math.round(Number(number) * factor * 1_000) / 1_000;
  const problem = limitProblem(name, value);
  if (problem !== undefined) throw new UsageError(`${where} ${problem}, not "${text}"`);
  return value;
}

/** `30s`, `7d`: a number with a unit of time, in ms; undefined for another text. */
export function parseDuration(text: string): number | undefined {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?) ?([a-z]+)$/.exec(text.trim()) ?? [];
  const factor = Object.entries(units.ms).find(([known]) => known === unit)?.[1];
  return factor === undefined ? undefined : Math.round(Number(number) * factor);
}

function expectedOf(name: LimitName): string {
  switch (LIMITS[name].unit) {
    case "count":
      return "a whole number";
    case "ms":
      return "a number of ms, or a number with a unit (s, min, h, d), such as 30s";
    case "bytes":
      return "a number of bytes, or a number with a unit (KiB, MiB, GiB), such as 64MiB";
  }
}

/** `name=value`, as `--limit` takes it. @throws UsageError */
export function parseLimitFlag(text: string): Partial<Limits> {
  const equals = text.indexOf("=");
  if (equals < 1) {
    throw new UsageError(`--limit must look like name=value, such as rooms=50, not "${text}"`);
  }
  const given = text.slice(0, equals).trim();
  const name = LIMIT_NAMES.find((known) => known === given);
  if (name === undefined) {
    const next = meantSetting(nearest(given, LIMIT_NAMES));
    throw new UsageError(`--limit: unknown limit "${given}"; ${next}`);
  }
  return { [name]: parseLimitValue(name, text.slice(equals + 1), `--limit ${name}`) };
}

/** Formats a limit in the largest unit that gives a whole number, as `--limit` accepts it: `64MiB`, `90s`, `1000`. */
export function formatLimit(name: LimitName, value: number): string {
  const { unit } = LIMITS[name];
  const factors: Record<string, number> = units[unit];
  const best = printed[unit].find((known) => value > 0 && value % (factors[known] ?? 1) === 0);
  if (best !== undefined) return `${value / (factors[best] ?? 1)}${best}`;
  return unit === "count" ? String(value) : `${value}${unit === "ms" ? "ms" : "B"}`;
}

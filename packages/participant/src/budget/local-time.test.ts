import { type DailyHours, isInHours, parseHours } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { firstQuarterHour, type ReadLocalTime, systemLocalTime } from "./local-time.ts";

function inZone(timeZone: string): ReadLocalTime {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    dateStyle: "short",
    timeStyle: "short",
  });
  return (epochMs) => {
    const [day = "", time = ""] = format.format(epochMs).split(" ");
    return { day, hour: Number(time.slice(0, 2)) };
  };
}

function hours(text: string): DailyHours {
  const parsed = parseHours(text);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

test("the next opening is on the same day, or on the next one", () => {
  const utc = inZone("UTC");
  const next = (from: string) =>
    new Date(
      firstQuarterHour(Date.parse(from), utc, ({ hour }) => isInHours(hours("18-23"), hour)),
    ).toISOString();
  expect(next("2026-01-10T17:59:59.999Z")).toBe("2026-01-10T18:00:00.000Z");
  expect(next("2026-01-10T23:00:00.000Z")).toBe("2026-01-11T18:00:00.000Z");
});

test.each([
  ["Europe/Berlin", "2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z", 23],
  ["Europe/Berlin", "2026-10-24T22:00:00.000Z", "2026-10-25T23:00:00.000Z", 25],
  ["Australia/Lord_Howe", "2026-04-04T13:00:00.000Z", "2026-04-05T13:30:00.000Z", 24.5],
  ["Asia/Kathmandu", "2026-05-01T18:15:00.000Z", "2026-05-02T18:15:00.000Z", 24],
])("a day in %s that begins at %s ends at %s, %d h later", (zone, start, end, length) => {
  const readLocalTime = inZone(zone);
  const startMs = Date.parse(start);
  const { day } = readLocalTime(startMs);
  expect(readLocalTime(startMs - 1).day).not.toBe(day);
  const endMs = firstQuarterHour(startMs, readLocalTime, (time) => time.day !== day);
  expect(new Date(endMs).toISOString()).toBe(end);
  expect((endMs - startMs) / 3_600_000).toBe(length);
});

test("an hour that the clocks skip opens the day after, and one that they repeat is open twice", () => {
  const berlin = inZone("Europe/Berlin");
  const isTwo = ({ hour }: { hour: number }) => isInHours(hours("2-3"), hour);
  const skippedMs = firstQuarterHour(Date.parse("2026-03-28T23:00:00Z"), berlin, isTwo);
  expect(new Date(skippedMs).toISOString()).toBe("2026-03-30T00:00:00.000Z");
  const openMs = Date.parse("2026-10-25T00:00:00Z");
  const quarters = Array.from({ length: 12 }, (_, index) => berlin(openMs + index * 900_000));
  expect(quarters.filter(isTwo)).toHaveLength(8);
});

test("the clock of this process is that of its time zone", () => {
  const date = new Date(2026, 0, 5, 7, 30);
  expect(systemLocalTime(date.getTime())).toEqual({ day: "2026-01-05", hour: 7 });
});

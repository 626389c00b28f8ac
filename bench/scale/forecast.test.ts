import { expect, test } from "vitest";
import { forecast } from "./forecast.ts";
import { readPoints, valuesOf } from "./points.ts";
import { comparePoints, loadOf } from "./tables.ts";

const points = await readPoints(new URL("points.json", import.meta.url).pathname);
const costs = valuesOf(points);

test("a hub alone has no links, no notices and no hop", () => {
  const { work, hubCpu } = forecast(loadOf(1, 1), costs);
  expect(work.links).toBe(0);
  expect([hubCpu["notices"], hubCpu["hop"]]).toEqual([0, 0]);
});

test("links and presence grow with the square of the hubs, and groups cut both", () => {
  const linksOf = (hubs: number, groups: number) =>
    hubs * forecast(loadOf(hubs, groups), costs).work.links;
  expect(linksOf(10, 1)).toBe(2 * 90);
  expect(linksOf(100, 1)).toBe(2 * 9_900);
  expect(linksOf(100, 10)).toBe(10 * linksOf(10, 1));
});

test("a hub has the same to do in a group of ten, however many groups there are", () => {
  const [alone, among] = [forecast(loadOf(10, 1), costs), forecast(loadOf(1_000, 100), costs)];
  expect(among.hubCpu).toEqual(alone.hubCpu);
  expect(among.natsMessagesPerSecond).toBeCloseTo(alone.natsMessagesPerSecond, 6);
  expect(among.hubBytes).toBeCloseTo(alone.hubBytes, 0);
});

test("a cluster that gets more than it can do has no lag that ends", () => {
  expect(forecast(loadOf(1_000, 1), costs).lagP99Ms).toBe(Number.POSITIVE_INFINITY);
});

test("the same costs and load give the same forecast", () => {
  expect(forecast(loadOf(10, 1), costs)).toEqual(forecast(loadOf(10, 1), costs));
});

test("a figure is reproduced within 15 % or marked", () => {
  const load = loadOf(3, 1);
  const { natsCpuShare } = forecast(load, costs);
  const isWithin = (factor: number) =>
    comparePoints(
      {
        ...points,
        points: [{ name: "a run", load, seen: { natsCpuShare: natsCpuShare / factor } }],
      },
      costs,
    ).map((deviation) => deviation.isWithin);
  expect([isWithin(1.14), isWithin(1.16), isWithin(0.86), isWithin(0.84)]).toEqual([
    [true],
    [false],
    [true],
    [false],
  ]);
});

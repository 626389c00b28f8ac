import type { HubEvent } from "@roomhub/protocol";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import {
  aComplete,
  aFailure,
  aParticipant,
  passing,
  noTimers,
} from "../../test-context.fixture.ts";
import { sendMetrics } from "./otlp-sender.ts";
import { prometheusText } from "./metrics-server.ts";
import { RoomMetrics } from "./room-metrics.ts";

interface Sent {
  name: string;
  unit: string;
  sum?: { aggregationTemporality: number; isMonotonic: boolean; dataPoints: SentPoint[] };
  gauge?: { dataPoints: SentPoint[] };
  histogram?: { aggregationTemporality: number; dataPoints: SentPoint[] };
}

interface SentPoint {
  attributes: { key: string; value: { stringValue: string } }[];
  startTimeUnixNano: string;
  timeUnixNano: string;
  asInt?: number;
  count?: number;
  sum?: number;
  bucketCounts?: number[];
  explicitBounds?: number[];
}

/** Accepts what is sent to it, or responds with `status`. */
async function startReceiver(status = 200) {
  const requests: { path: string; headers: Record<string, unknown>; text: string }[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part: string) => (text += part));
    request.on("end", () => {
      requests.push({ path: request.url ?? "", headers: request.headers, text });
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/metrics`,
    metrics: (index: number) => {
      const body = JSON.parse(requests[index]?.text ?? "{}");
      return body.resourceMetrics[0].scopeMetrics[0].metrics as Sent[];
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Timers that fire when the test says so. */
function manualTimers() {
  const timers = new Set<() => void>();
  return {
    after: (_ms: number, callback: () => void) => {
      timers.add(callback);
      return () => void timers.delete(callback);
    },
    fire: () => {
      for (const callback of timers) {
        timers.delete(callback);
        callback();
      }
    },
    count: () => timers.size,
  };
}

function counted(): RoomMetrics {
  const metrics = new RoomMetrics();
  for (const id of ["b-1", "b-4"]) metrics.noteId(id);
  metrics.note({
    ...aComplete,
    metrics: { ttftMs: 120, durationMs: 2_400, inputTokens: 4, outputTokens: 70 },
  } as HubEvent);
  metrics.note(aFailure);
  return metrics;
}

const now = {
  isConnected: true,
  rooms: [{ room: "ABC234", participants: [aParticipant()] }],
};

describe("an OTLP receiver", () => {
  test("gets the series of the Prometheus endpoint with the same values", async () => {
    await using receiver = await startReceiver();
    const metrics = counted();
    const sender = sendMetrics({
      ...{
        url: receiver.url,
        version: "1.2.3",
        world: passing({ nowMs: () => 61_500, after: noTimers }),
      },
      collect: async () => metrics.collect(now),
      onSent: (failure) => expect(failure).toBeUndefined(),
    });
    await sender.close();
    expect(receiver.requests.map(({ path }) => path)).toEqual(["/v1/metrics"]);
    expect(receiver.requests[0]?.headers["content-type"]).toBe("application/json");
    const lines = prometheusText(metrics.collect(now))
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));
    expect(receiver.metrics(0).flatMap(linesOf).toSorted()).toEqual(lines.toSorted());
  });

  test("gets the names, units and kinds of the conventions, cumulative since the start", async () => {
    await using receiver = await startReceiver();
    let nowMs = 61_500;
    const sender = sendMetrics({
      ...{
        url: receiver.url,
        version: "1.2.3",
        world: passing({ nowMs: () => nowMs, after: noTimers }),
      },
      ...{ collect: async () => counted().collect(now), onSent: () => {} },
    });
    nowMs = 90_000;
    await sender.close();
    const sent = receiver.metrics(0);
    expect(sent.map(({ name, unit }) => `${name} ${unit}`).slice(0, 4)).toEqual([
      "gen_ai.server.time_to_first_token s",
      "gen_ai.server.request.duration s",
      "gen_ai.client.token.usage {token}",
      "roomhub.requests {request}",
    ]);
    expect(sent[0]?.histogram?.aggregationTemporality).toBe(2);
    expect(sent[3]?.sum).toMatchObject({ aggregationTemporality: 2, isMonotonic: true });
    const point = sent[0]?.histogram?.dataPoints[0];
    expect(point).toMatchObject({
      startTimeUnixNano: "61500000000",
      timeUnixNano: "90000000000",
    });
    expect(point?.attributes.map(({ key }) => key)).toEqual([
      ...["room", "participant", "gen_ai.request.model", "gen_ai.operation.name"],
    ]);
    const { resource } = JSON.parse(receiver.requests[0]?.text ?? "{}").resourceMetrics[0];
    expect(resource.attributes).toEqual([
      { key: "service.name", value: { stringValue: "roomhub" } },
      { key: "service.version", value: { stringValue: "1.2.3" } },
    ]);
  });

  test("gets the totals again with each interval, and a last time at the end", async () => {
    await using receiver = await startReceiver();
    const timers = manualTimers();
    const sent = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let attempts = 0;
    const metrics = counted();
    const sender = sendMetrics({
      ...{
        url: receiver.url,
        version: "1.2.3",
        world: passing({ nowMs: () => 0, after: timers.after }),
      },
      collect: async () => metrics.collect(now),
      onSent: () => sent[attempts++]?.resolve(),
    });
    timers.fire();
    await sent[0]?.promise;
    metrics.note(aFailure);
    await sender.close();
    expect(timers.count()).toBe(0);
    const requestsOf = (index: number) =>
      receiver.metrics(index)[3]?.sum?.dataPoints.map(({ asInt }) => asInt);
    expect([requestsOf(0), requestsOf(1)]).toEqual([
      [1, 1],
      [1, 2],
    ]);
    expect(receiver.requests.length).toBe(2);
  });

  test("that refuses is a failure with its status", async () => {
    await using receiver = await startReceiver(400);
    const failures: (string | undefined)[] = [];
    const sender = sendMetrics({
      ...{
        url: receiver.url,
        version: "1.2.3",
        world: passing({ nowMs: () => 0, after: noTimers }),
      },
      ...{ collect: async () => [], onSent: (failure) => failures.push(failure) },
    });
    await sender.close();
    expect(failures).toEqual([expect.stringMatching(/Bad Request|400/)]);
  });
});

/** Lines as Prometheus has them, from what was sent. */
function linesOf({ name, unit, sum, gauge, histogram }: Sent): string[] {
  const flat = name.replaceAll(".", "_") + (unit === "s" ? "_seconds" : "");
  const simple = [
    ...(sum?.dataPoints.map((point) => ({ point, text: `${flat}_total` })) ?? []),
    ...(gauge?.dataPoints.map((point) => ({ point, text: flat })) ?? []),
  ].map(({ point, text }) => `${text}${labelsOf(point)} ${point.asInt}`);
  const buckets = (histogram?.dataPoints ?? []).flatMap((point) => {
    let total = 0;
    return [
      ...(point.bucketCounts ?? []).map((count, index) => {
        const le = String(point.explicitBounds?.[index] ?? "+Inf");
        return `${flat}_bucket${labelsOf(point, `le="${le}"`)} ${(total += count)}`;
      }),
      `${flat}_sum${labelsOf(point)} ${point.sum}`,
      `${flat}_count${labelsOf(point)} ${point.count}`,
    ];
  });
  return [...simple, ...buckets];
}

function labelsOf({ attributes }: SentPoint, last?: string): string {
  const pairs = attributes.map(
    ({ key, value }) => `${key.replaceAll(".", "_")}="${value.stringValue}"`,
  );
  const all = last === undefined ? pairs : [...pairs, last];
  return all.length === 0 ? "" : `{${all.join(",")}}`;
}

import { readFileSync } from "node:fs";
import type { HubEvent } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { prometheusText } from "../../packages/cli/src/watch/metrics/metrics-server.ts";
import { RoomMetrics } from "../../packages/cli/src/watch/metrics/room-metrics.ts";
import { aComplete, aFailure, aParticipant } from "../../packages/cli/src/test-context.fixture.ts";

interface Dashboard {
  templating: { list: { query: string | { query: string } }[] };
  panels: { title: string; targets: { expr: string; legendFormat?: string }[] }[];
}

/** A metric that a PromQL expression reads, with the labels that it needs there. */
interface Selected {
  series: string;
  labels: string[];
}

const path = new URL("../../docs/grafana/roomhub.json", import.meta.url);
const dashboard = JSON.parse(readFileSync(path, "utf8")) as Dashboard;
const targets = dashboard.panels.flatMap((panel) => panel.targets);

test("every expression of the dashboard reads series and labels that the exporter has", () => {
  const exported = exportedLabels();
  const variables = dashboard.templating.list.flatMap(({ query }) =>
    typeof query === "string" ? [] : [query.query],
  );
  expect(targets.length).toBeGreaterThan(10);
  for (const expression of [...targets.map(({ expr }) => expr), ...variables]) {
    const selected = selectedSeries(expression);
    expect(selected.length, expression).toBeGreaterThan(0);
    for (const { series, labels } of selected) {
      expect(exported.has(series), `${series} in ${expression}`).toBe(true);
      const unknown = labels.filter((label) => exported.get(series)?.has(label) !== true);
      expect(unknown, expression).toEqual([]);
    }
  }
});

test("a legend names labels that its expression keeps", () => {
  for (const { expr, legendFormat = "" } of targets) {
    const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
    expect(grouped(expr), expr).toEqual(expect.arrayContaining(named));
  }
});

test("what an expression reads is found in it", () => {
  expect(selectedSeries('sum by (le, room) (rate(a_total{b=~"$room",c!="x"}[5m])) / d')).toEqual([
    { series: "a_total", labels: ["b", "c", "le", "room"] },
    { series: "d", labels: ["le", "room"] },
  ]);
  expect(selectedSeries("label_values(a_total, room)")).toEqual([
    { series: "a_total", labels: ["room"] },
  ]);
});

/** The labels of each series of an exporter that has counted one request of each outcome. */
function exportedLabels(): Map<string, Set<string>> {
  const metrics = new RoomMetrics();
  const counted = { ttftMs: 120, durationMs: 2_400, inputTokens: 4, outputTokens: 70 };
  metrics.note({ ...aComplete, metrics: counted } as HubEvent);
  metrics.note(aFailure);
  const rooms = [{ room: "ABC234", participants: [aParticipant()] }];
  const text = prometheusText(metrics.collect({ isConnected: true, rooms }));
  const found = new Map<string, Set<string>>();
  for (const [, series = "", labels = ""] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = found.get(series) ?? new Set();
    for (const [, label = ""] of labels.matchAll(/(?:^|,)(\w+)="/g)) known.add(label);
    found.set(series, known);
  }
  return found;
}

/** For expressions as dashboards have them: selectors, functions, `by (…)`. */
function selectedSeries(expression: string): Selected[] {
  const groups = grouped(expression);
  const [, listed] = /^label_values\(\w+, (\w+)\)$/.exec(expression) ?? [];
  const bare = expression.replaceAll(/\bby \([^)]*\)|\[[^\]]*\]|, \w+\)$/g, "");
  const selectors = bare.matchAll(/\b([a-zA-Z_]\w*)\b(?!\s*\()(?:\{([^}]*)\})?/g);
  return [...selectors].map(([, series = "", matchers = ""]) => ({
    series,
    labels: [
      ...[...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = ""]) => label),
      ...groups,
      ...(listed === undefined ? [] : [listed]),
    ],
  }));
}

function grouped(expression: string): string[] {
  return [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) =>
    list.split(",").map((label) => label.trim()),
  );
}

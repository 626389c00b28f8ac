import { existsSync, readFileSync } from "node:fs";
import type { EventRecorder } from "../support/hub/event-recorder.ts";
import { ledgerOf } from "../support/hub/ledger.ts";
import { until } from "../support/waiting.ts";
import type { Children, RoomhubChild } from "./child.ts";

interface Observed {
  hubUrl: string;
  code: string;
  /** @returns where a file may be */
  path: (name: string) => string;
}

/** What ended, in counts that every program which reads the events must have. */
type Counts = Record<string, number>;

/** For what was sent to be read and written, on a busy machine too. */
const catchUpMs = 60_000;

/** `roomhub record` and `roomhub metrics` beside a hub, whose sums must be those of the ledger. */
export class Observers {
  readonly #children: Children;
  readonly #observed: Observed;
  readonly #recorder: RoomhubChild;
  readonly #metricsUrl: string;

  constructor(children: Children, observed: Observed, recorder: RoomhubChild, metricsUrl: string) {
    this.#children = children;
    this.#observed = observed;
    this.#recorder = recorder;
    this.#metricsUrl = metricsUrl;
  }

  /** Resolves when both read the stream: from then on nothing is missed. */
  static async start(children: Children, observed: Observed): Promise<Observers> {
    const room = `${observed.hubUrl}/rooms/${observed.code}`;
    const start = (args: readonly string[]) =>
      children.roomhub({ args, outputPath: observed.path(`${args[0]}.log`) });
    const recorder = start(["record", room, "--out", observed.path("events.ndjson")]);
    const metrics = start(["metrics", room, "--port", "0"]);
    const [, line] = await Promise.all([
      recorder.line("what it records", (found) => "file" in found, catchUpMs),
      metrics.line("where its metrics are", (found) => "url" in found, catchUpMs),
    ]);
    return new Observers(children, observed, recorder, String(line["url"]));
  }

  /**
   * Ends the recording and compares.
   *
   * @param ledger - of a hub that was not restarted, after every request ended
   * @returns what does not agree, in words
   */
  async problems(ledger: EventRecorder): Promise<string[]> {
    const expected = countsOf(ledger);
    const scrape = async () => metricCounts(await (await fetch(this.#metricsUrl)).text());
    // An event reaches each reader of the stream in its own time.
    const metrics = await until(
      "the metrics to have every request",
      scrape,
      (counts) => counts["requests"] === expected["requests"],
      catchUpMs,
    ).catch(scrape);
    const hasAll = (ends: number) => ends === expected["requests"];
    await until(
      "the recording to have every request",
      () => this.#recordedEnds(),
      hasAll,
      catchUpMs,
    )
      // The report tells what is missing.
      .catch(() => undefined);
    await this.#recorder.kill("SIGINT");
    return [
      ...differences("roomhub metrics", expected, metrics),
      ...differences("roomhub report", expected, reportCounts(await this.#report())),
    ];
  }

  #recordedEnds(): number {
    const path = this.#observed.path("events.ndjson");
    const recorded = existsSync(path) ? readFileSync(path, "utf8") : "";
    return [...recorded.matchAll(/"name":"llm[.:](?:complete|error)"/g)].length;
  }

  async #report(): Promise<Report> {
    const { path } = this.#observed;
    const args = ["report", path("events.ndjson")];
    const child = this.#children.roomhub({ args, outputPath: path("report.log") });
    return (await child.line("its sums", isReport, catchUpMs)) as unknown as Report;
  }
}

function isReport(line: Record<string, unknown>): boolean {
  return "usage" in line;
}

interface Report {
  requests: number;
  errors: number;
  failures: { stage: string; code: string; requests: number }[];
  usage: { requests: number; errors: number; inputTokens: number; outputTokens: number }[];
  missedEvents: number;
  restarts: number;
  unreadableLines: number;
}

function countsOf(ledger: EventRecorder): Counts {
  const counts: Counts = { ...nothing };
  for (const { ends } of ledgerOf(ledger)) {
    for (const { kind, data } of ends) {
      add(counts, "requests", 1);
      if (kind === "llm.error") {
        add(counts, "errors", 1);
        add(counts, `${String(data["stage"])} ${String(data["code"])}`, 1);
        continue;
      }
      const { inputTokens = 0, outputTokens = 0 } = data["metrics"] as Record<string, number>;
      add(counts, "input tokens", inputTokens);
      add(counts, "output tokens", outputTokens);
    }
  }
  return counts;
}

function reportCounts({ requests, errors, failures, usage, ...lacking }: Report): Counts {
  const counts: Counts = { ...nothing, requests, errors };
  for (const { stage, code, requests: failed } of failures) add(counts, `${stage} ${code}`, failed);
  for (const { inputTokens, outputTokens } of usage) {
    add(counts, "input tokens", inputTokens);
    add(counts, "output tokens", outputTokens);
  }
  const sum = (of: "requests" | "errors") => usage.reduce((total, row) => total + row[of], 0);
  // The rows of people are the whole, too.
  add(counts, "missing in rows", requests - sum("requests") + errors - sum("errors"));
  add(counts, "lacking", lacking.missedEvents + lacking.restarts + lacking.unreadableLines);
  return counts;
}

function metricCounts(text: string): Counts {
  const counts: Counts = { ...nothing };
  for (const [, name, labels = "", value] of text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
    const label = (key: string) => new RegExp(`(?:^|,)${key}="([^"]*)"`).exec(labels)?.[1] ?? "";
    const number = Number(value);
    if (name === "roomhub_requests_total") add(counts, "requests", number);
    if (name === "gen_ai_client_token_usage_sum") {
      add(counts, `${label("gen_ai_token_type")} tokens`, number);
    }
    if (name === "roomhub_request_errors_total") {
      add(counts, "errors", number);
      add(counts, `${label("stage")} ${label("error_type")}`, number);
    }
    if (name === "roomhub_events_missed_total") add(counts, "lacking", number);
    if (name === "gen_ai_server_time_to_first_token_seconds_count") {
      add(counts, "missing in rows", number);
    }
  }
  // Every request either failed or has a time to the first token.
  add(counts, "missing in rows", (counts["errors"] ?? 0) - (counts["requests"] ?? 0));
  return counts;
}

const nothing: Counts = {
  ...{ requests: 0, errors: 0, "input tokens": 0, "output tokens": 0 },
  ...{ "missing in rows": 0, lacking: 0 },
};

function add(counts: Counts, name: string, more: number): void {
  counts[name] = (counts[name] ?? 0) + more;
}

function differences(program: string, expected: Counts, found: Counts): string[] {
  const names = new Set([...Object.keys(expected), ...Object.keys(found)]);
  return [...names]
    .filter((name) => (expected[name] ?? 0) !== (found[name] ?? 0))
    .map((name) => `${program} has ${found[name] ?? 0} ${name}, the ledger ${expected[name] ?? 0}`);
}

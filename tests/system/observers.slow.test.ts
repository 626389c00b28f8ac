import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { type LedgerEntry, ledgerOf, ledgerProblems, settled } from "../support/hub/ledger.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { startRoomhub } from "../support/programs/roomhub-process.ts";
import { runCommand } from "../support/programs/run-command.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { type Behaviour, startFakeProvider } from "../support/providers/fake-provider.ts";
import { until } from "../support/waiting.ts";

const launcher = fileURLToPath(new URL("../../packages/cli/bin/roomhub.js", import.meta.url));
const normal: Behaviour = { kind: "normal" };

/** Sends a request and reads the response to its end, however it ends. */
async function send(hub: TestHub, code: string, model = "*", signal?: AbortSignal): Promise<void> {
  const messages = userSays("one two three four");
  const json = { model, stream: true, stream_options: { include_usage: true }, messages };
  const headers = { authorization: "Bearer as-alice" };
  const init = { json, headers, ...(signal === undefined ? {} : { signal }) };
  await hub
    .fetch(`/rooms/${code}/v1/chat/completions`, init)
    .then((response) => response.text())
    .catch(() => undefined);
}

/** How many requests ended, and how: by stage for those that failed. */
function outcomes(ledger: readonly LedgerEntry[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { data } of ledger.flatMap(({ ends }) => ends)) {
    const outcome = data.type === "llm.complete" ? "complete" : String(data["stage"]);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}

test("record, report and metrics agree with the ledger after faults", async () => {
  const behaviour: { next: Behaviour } = { next: normal };
  await using provider = await startFakeProvider({ behave: () => behaviour.next });
  await using hub = await startTestHub();
  await using folder = await temporaryFolder();
  const file = join(folder.path, "lab.ndjson");
  const code = await hub.createRoom();
  const invite = `${hub.url}/rooms/${code}`;
  const ada = await joinTunnel(hub, code, { endpoint: provider.url });
  const events = await hub.watch(code);
  await using recorder = startRoomhub(["record", invite, "--out", file]);
  await using exporter = startRoomhub(["metrics", invite, "--port", "0"]);
  await recorder.line("that it records", (line) => line["file"] === file);
  const { url } = await exporter.line("its URL", (line) => "url" in line);

  for (let time = 0; time < 3; time++) await send(hub, code);
  await send(hub, code, "missing");
  behaviour.next = { kind: "status", status: 500 };
  await send(hub, code);
  behaviour.next = { kind: "hang-mid-stream" };
  const leaving = new AbortController();
  const left = send(hub, code, "*", leaving.signal);
  await provider.waitFor(({ openGenerations }) => openGenerations === 1);
  leaving.abort();
  await left;
  await provider.waitFor(({ openGenerations }) => openGenerations === 0);
  const cut = send(hub, code);
  await provider.waitFor(({ openGenerations }) => openGenerations === 1);
  await ada.agent.close();
  await cut;
  await settled(events, 7);
  await until(
    "the last end in the file",
    () => readFile(file, "utf8"),
    (text) => text.match(/"name":"llm\.(complete|error)"/g)?.length === 7,
  );

  const ledger = ledgerOf(events);
  expect(ledgerProblems(events)).toEqual([]);
  const expected = outcomes(ledger);
  expect(expected).toMatchObject({ complete: 3, routing: 1, provider: 1, client: 1 });
  const failures = 7 - (expected["complete"] ?? 0);

  const counts = await until(
    "all requests in the metrics",
    async () => countsOf(await (await fetch(String(url))).text()),
    ({ requests }) => requests === 7,
  );
  expect(counts).toEqual({
    requests: 7,
    ttft: 3,
    missed: 0,
    outcomes: { ...expected, complete: 3 },
  });

  await recorder.kill("SIGTERM");
  expect(await recordedEnds(file)).toEqual(
    events.events
      .filter(({ kind }) => kind === "llm.complete" || kind === "llm.error")
      .map(({ id, data: { type, timestamp, ...payload } }) => ({
        ...{ id, name: type, time: timestamp },
        payload,
      })),
  );
  const { stdout } = await runCommand(process.execPath, [launcher, "report", file, "--json"]);
  const report = JSON.parse(stdout) as {
    failures: { stage: string; requests: number }[];
    usage: { person: string; outputTokens: number; requests: number }[];
  };
  expect(report).toMatchObject({ requests: 7, errors: failures, restarts: 0, unreadableLines: 0 });
  const byStage: Record<string, number> = { complete: 7 - failures };
  for (const { stage, requests } of report.failures) {
    byStage[stage] = (byStage[stage] ?? 0) + requests;
  }
  expect(byStage).toEqual(expected);
  const tokens = events
    .of("llm.complete")
    .map(({ data }) => (data["metrics"] as { outputTokens: number }).outputTokens);
  expect(tokens.every((count) => count > 0)).toBe(true);
  const used = report.usage.reduce((sum, { outputTokens }) => sum + outputTokens, 0);
  expect(used).toBe(tokens.reduce((sum, count) => sum + count, 0));
  expect(report.usage.map(({ person }) => person)).toEqual(report.usage.map(() => "alice"));
});

test("a recording that was killed goes on, and says what it missed", async () => {
  await using hub = await startTestHub();
  await using folder = await temporaryFolder();
  const file = join(folder.path, "lab.ndjson");
  const code = await hub.createRoom();
  const args = ["record", `${hub.url}/rooms/${code}`, "--out", file];
  const ends = async () => (await readFile(file, "utf8")).match(/"name":"llm.error"/g)?.length;

  await using first = startRoomhub(args);
  await first.line("that it records", (line) => line["file"] === file);
  await send(hub, code);
  await until("the first request in the file", ends, (count) => count === 1);
  await first.kill("SIGKILL");
  for (let time = 0; time < 3; time++) await send(hub, code);
  await using second = startRoomhub(args);
  await second.line("that it records", (line) => line["file"] === file);
  await send(hub, code);
  await until("the last request in the file", ends, (count) => count === 2);

  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  const [before, gap, after] = lines.slice(-3).map((line) => JSON.parse(line) as { id?: string });
  expect(gap).toEqual({ gap: { from: before?.id, to: after?.id, missed: 3 } });
});

/** What the counters of an exporter sum up to. */
function countsOf(text: string) {
  const sums = (name: string, label: RegExp) => {
    const counts: Record<string, number> = {};
    for (const line of text.split("\n").filter((each) => each.startsWith(`${name}{`))) {
      const key = label.exec(line)?.[1] ?? "";
      counts[key] = (counts[key] ?? 0) + Number(line.split(" ").at(-1));
    }
    return counts;
  };
  const all = /()/;
  const errors = sums("roomhub_request_errors_total", /stage="(\w+)"/);
  const requests = sums("roomhub_requests_total", all)[""] ?? 0;
  const failed = Object.values(errors).reduce((sum, count) => sum + count, 0);
  const ttft = sums("gen_ai_server_time_to_first_token_seconds_count", all)[""];
  const missed = Number(/^roomhub_events_missed_total (\d+)$/m.exec(text)?.[1]);
  return { requests, ttft, missed, outcomes: { ...errors, complete: requests - failed } };
}

async function recordedEnds(file: string): Promise<object[]> {
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  return lines
    .map((line) => JSON.parse(line) as { name: string })
    .filter(({ name }) => name === "llm.complete" || name === "llm.error");
}

import { expect, test, vi } from "vitest";
import type { Terminal } from "../context.ts";
import { createRoomTable, createServedTable } from "./request-table.ts";
import { aComplete, aFailure, capture, makeWorld } from "../test-context.fixture.ts";
import { colorsFor } from "./text.ts";
import { displayWidth } from "./display-width.ts";

type Over = Parameters<ReturnType<typeof createRoomTable>>[0];

const waited: Over = { ...aComplete, queueMs: 1500, participantId: "安娜-llama3" } as Over;
const gone: Over = {
  ...aFailure,
  participantId: "ana-llama3",
  model: "llama3",
  code: "client_disconnected",
} as Over;
const bare: Over = { ...aComplete, metrics: { ttftMs: 65_000, durationMs: 125_000 } } as Over;
const all = [aComplete, waited, aFailure, gone, bare] as Over[];

function table(columns?: number, env: Record<string, string> = {}): string {
  const world = makeWorld({ env });
  const terminal = capture(columns);
  const row = createRoomTable(terminal, colorsFor(world.context, terminal));
  return `\n${all.map(row).join("\n")}\n`.replaceAll(/\d\d:\d\d:\d\d/g, "12:03:04");
}

test("in a pipe rows are aligned and whole", () => {
  expect(table()).toMatchInlineSnapshot(`
    "
    TIME      CLIENT    PARTICIPANT       MODEL          QUEUE    TTFT  TOK/S  OUTCOME
    12:03:04  alice     ana-llama3        llama3             -  120 ms   33.3  ok 2.4 s, 80 tokens
    12:03:04  alice     安娜-llama3       llama3         1.5 s  120 ms   33.3  ok 2.4 s, 80 tokens
    12:03:04  -         -                 gpt-9              -       -      -  model_not_found: No participant serves gpt-9
    12:03:04  -         ana-llama3        llama3             -       -      -  cancelled by the client
    12:03:04  alice     ana-llama3        llama3             -  65.0 s      -  ok 2 min 05 s
    "
  `);
});

test("a name that the row above has, too, is not measured again", () => {
  const terminal = capture();
  const row = createRoomTable(terminal, colorsFor(makeWorld().context, terminal));
  const segment = vi.spyOn(Intl.Segmenter.prototype, "segment");
  row(waited);
  segment.mockClear();
  expect(row(waited)).toContain("安娜-llama3");
  expect(segment).not.toHaveBeenCalled();
  segment.mockRestore();
});

test("on a terminal they are painted", () => {
  expect(table(90).replaceAll("\u001b", "ESC")).toMatchInlineSnapshot(`
    "
    ESC[2mTIME    ESC[22m  ESC[2mCLIENT  ESC[22m  ESC[2mPARTICIPA…ESC[22m  ESC[2mMODEL     ESC[22m  ESC[2m QUEUEESC[22m  ESC[2m  TTFTESC[22m  ESC[2mTOK/SESC[22m  ESC[2mOUTCOMEESC[22m
    ESC[2m12:03:04ESC[22m  alice     ana-llama3  llama3           -  120 ms   33.3  ESC[32mok 2.4 s, 80 tokensESC[39m
    ESC[2m12:03:04ESC[22m  alice     安娜-llam…  llama3       1.5 s  120 ms   33.3  ESC[32mok 2.4 s, 80 tokensESC[39m
    ESC[2m12:03:04ESC[22m  -         -           gpt-9            -       -      -  ESC[31mmodel_not_found: No pa…ESC[39m
    ESC[2m12:03:04ESC[22m  -         ana-llama3  llama3           -       -      -  ESC[33mcancelled by the clientESC[39m
    ESC[2m12:03:04ESC[22m  alice     ana-llama3  llama3           -  65.0 s      -  ESC[32mok 2 min 05 sESC[39m
    "
  `);
});

test("a demo's thousands of tokens a second push no column apart, and one token is one", () => {
  const terminal = capture();
  const row = createRoomTable(terminal, colorsFor(makeWorld().context, terminal));
  const paced = (tokensPerSecond: number) => {
    const metrics = { ttftMs: 4, durationMs: 4, outputTokens: 1, tokensPerSecond };
    return row({ ...aComplete, metrics } as Over)
      .split("\n")
      .at(-1);
  };
  expect(paced(999.94)).toMatch(/ 4 ms {2}999\.9 {2}ok 4 ms, 1 token$/);
  expect(paced(14_153.3)).toMatch(/ 4 ms {2}14153 {2}ok 4 ms, 1 token$/);
});

test("the failed participant is not named twice", () => {
  const terminal = capture();
  const row = createRoomTable(terminal, colorsFor(makeWorld().context, terminal));
  const error = "ana-llama3: 127.0.0.1:11434 refused the connection";
  const line = row({ ...gone, code: "provider_unreachable", error } as Over);
  expect(line).toContain("  provider_unreachable: 127.0.0.1:11434 refused the connection");
});

test("with NO_COLOR they are not", () => {
  expect(table(90, { NO_COLOR: "1" })).not.toContain("\u001b");
});

test("a terminal of 60 columns leaves out numbers and cuts names, for the outcome's sake", () => {
  expect(table(60, { NO_COLOR: "1" })).toMatchInlineSnapshot(`
    "
    TIME      PARTICIPANT    MODEL         OUTCOME
    12:03:04  ana-llama3     llama3        ok 2.4 s, 80 tokens
    12:03:04  安娜-llama3    llama3        ok 2.4 s, 80 tokens
    12:03:04  -              gpt-9         model_not_found: No …
    12:03:04  ana-llama3     llama3        cancelled by the cli…
    12:03:04  ana-llama3     llama3        ok 2 min 05 s
    "
  `);
});

test.each([120, 80, 60, 40, 20, 5, 1])("in %i columns no row wraps", (columns) => {
  for (const line of table(columns, { NO_COLOR: "1" }).split("\n")) {
    expect(displayWidth(line)).toBeLessThanOrEqual(columns);
  }
});

test("a terminal that becomes narrow gets the headings of the columns that are left", () => {
  let columns = 90;
  const terminal: Terminal = {
    write() {},
    isTTY: true,
    get columns() {
      return columns;
    },
    rows: 24,
  };
  const row = createRoomTable(
    terminal,
    colorsFor(makeWorld({ env: { NO_COLOR: "1" } }).context, terminal),
  );
  row(aComplete as Over);
  expect(row(aComplete as Over)).not.toContain("TIME");
  columns = 40;
  expect(row(aComplete as Over)).toContain("TIME      PARTICIP…  OUTCOME\n");
  expect(row(aComplete as Over)).not.toContain("TIME");
});

const unmeasured = {
  kind: "request-ended",
  path: "/chat/completions",
  model: "llama3",
  client: undefined,
  status: 200,
  durationMs: 1500,
  outcome: "complete",
  code: undefined,
  reason: undefined,
} as const;
const served = { ...unmeasured, ttftMs: 120, outputTokens: 80, tokensPerSecond: 53.33 } as const;
const refused = {
  ...unmeasured,
  ...{ path: "/embeddings", status: 404, outcome: "failed" as const },
};
const failed = {
  ...unmeasured,
  status: undefined,
  outcome: "failed",
  code: "provider_timeout",
  reason: "no answer",
} as const;

function servedTable(hasNames: boolean, columns?: number): string {
  const terminal = capture(columns);
  const { context } = makeWorld({ env: { NO_COLOR: "1" } });
  const row = createServedTable(terminal, colorsFor(context, terminal), hasNames);
  const rows = [
    row("ana-llama3", served, 0),
    row("ana-qwen3", refused, 0),
    row("ana-llama3", failed, 0),
  ];
  return `\n${rows.join("\n")}\n`.replaceAll(/\d\d:\d\d:\d\d/g, "12:03:04");
}

test.each([false, true])("a participant's own rows (several: %s)", (hasNames) => {
  expect(servedTable(hasNames)).toMatchSnapshot();
});

test("a terminal of 60 columns drops the tokens column and truncates the path", () => {
  expect(servedTable(false, 60)).toMatchSnapshot();
});

test("the client is a column as soon as one reveals itself", () => {
  const terminal = capture();
  const { context } = makeWorld({ env: { NO_COLOR: "1" } });
  const row = createServedTable(terminal, colorsFor(context, terminal), false);
  expect(row("ana", served, 0)).toMatch(/^TIME {6}MODEL/);
  expect(row("ana", { ...served, client: { kind: "none", id: "" } }, 0)).not.toContain("TIME");
  const user = { kind: "key", id: "5f0c1a2b", user: "bob" } as const;
  const [heading, named] = row("ana", { ...served, client: user }, 0).split("\n");
  expect(heading).toMatch(/^TIME {6}CLIENT {12}MODEL/);
  expect(named).toMatch(/ key:5f0c1a2b\/bob {2}llama3 /);
  expect(row("ana", served, 0)).toMatch(/ - {17}llama3 /);
});

test("a terminal of 40 columns still names the model, which distinguishes requests", () => {
  const [heading] = servedTable(false, 40).trimStart().split("\n");
  expect(heading?.split(/ +/)).toEqual(["TIME", "MODEL", "OUTCOME"]);
});

test.each([120, 80, 60, 40, 20, 5, 1])("in %i columns no row of a participant wraps", (columns) => {
  for (const line of servedTable(true, columns).split("\n")) {
    expect(displayWidth(line)).toBeLessThanOrEqual(columns);
  }
});

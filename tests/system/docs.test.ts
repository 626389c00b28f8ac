import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import {
  DETAIL_EVENT_NAMES,
  ERROR_STATUS,
  EVENT_NAMES,
  limitEnvName,
  LIMITS,
  type LimitName,
  spellEventName,
} from "@roomhub/protocol";
import { expect, test } from "vitest";
import { firstMinute, quickstartTranscript } from "../../scripts/transcript-picture.ts";
import {
  RoomMetrics,
  SEMANTIC_CONVENTIONS_VERSION,
} from "../../packages/cli/src/watch/metrics/room-metrics.ts";
import { prometheusText } from "../../packages/cli/src/watch/metrics/metrics-server.ts";
import { createProgram } from "../../packages/cli/src/program.ts";
import { makeWorld } from "../../packages/cli/src/test-context.fixture.ts";
import { ROUTES } from "../../packages/hub/src/http/routes.ts";
import { brokenLinks, root } from "../support/documents/guide.ts";
import { tableRows } from "../support/documents/markdown-table.ts";
import {
  existsBelow,
  namedPaths,
  pathsInDiagrams,
  sourceFolders,
} from "../support/documents/paths.ts";

function reference(name: string): string {
  return readFileSync(new URL(`../../docs/reference/${name}.md`, import.meta.url), "utf8");
}

test("http.md has every route, and no route the hub lacks", () => {
  const documented = tableRows(reference("http"), ["Method", "Path"]).map(
    ([method, path]) => `${method} ${path}`,
  );
  expect(documented.sort()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).sort());
});

test("events.md has every event in both spellings, and no other", () => {
  const documented = tableRows(reference("events"), ["Dotted", "Colon"]).map(([dotted, colon]) => [
    dotted,
    colon,
  ]);
  const expected = EVENT_NAMES.map((name) => [name, spellEventName(name, "colon")]);
  expect(sorted(documented)).toEqual(sorted(expected));
});

test("events.md has every event of detail in both spellings, and no other", () => {
  const documented = tableRows(reference("events"), ["Detail", "With colons"]).map(
    ([dotted, colon]) => [dotted, colon],
  );
  const expected = DETAIL_EVENT_NAMES.map((name) => [name, spellEventName(name, "colon")]);
  expect(sorted(documented)).toEqual(sorted(expected));
});

test("errors.md has every code with its status, stage and retry signal, and no other", () => {
  const documented = tableRows(reference("errors"), ["Code", "Status", "Stage", "Retry"]);
  const expected = Object.entries<{
    status: number;
    stage?: string;
    retry: string;
    retryAfterSeconds?: number;
  }>(ERROR_STATUS).map(([code, { status, stage, retry, retryAfterSeconds }]) => [
    code,
    String(status),
    stage ?? "—",
    retry === "none" ? "—" : [retry.replaceAll("-", " "), retryAfterSeconds ?? []].flat().join(" "),
  ]);
  expect(sorted(documented.map((row) => row.slice(0, 4)))).toEqual(sorted(expected));
});

test("config.md has every limit with its default, unit and variable, and no other", () => {
  const documented = tableRows(reference("config"), ["Limit", "Default", "Unit", "Environment"]);
  const expected = Object.entries(LIMITS).map(([name, { default: value, unit }]) => [
    name,
    String(value),
    unit,
    limitEnvName(name as LimitName),
  ]);
  expect(sorted(documented.map((row) => row.slice(0, 4)))).toEqual(sorted(expected));
});

/** Documented once, for all commands. */
function isCommon(flag: string | null | undefined): boolean {
  return flag === "--hub" || flag === "--key-file";
}

test("cli.md has every command, and every option of those that follow a room", async () => {
  const text = reference("cli");
  const { commands } = await createProgram(makeWorld().context);
  const documented = tableRows(text, ["Command", "Does"])
    .flatMap(([names = ""]) => [...names.matchAll(/`([a-z]+)/g)])
    .map(([, name]) => name);
  expect(new Set(documented)).toEqual(new Set(commands.map((each) => each.name())));
  const followers = commands.filter((each) =>
    ["record", "report", "metrics"].includes(each.name()),
  );
  expect(followers).toHaveLength(3);
  for (const command of followers) {
    const [, section = ""] = text.split(`\n## ${command.name()}\n`);
    const own = section.split("\n## ")[0];
    for (const { long } of command.options.filter((option) => !isCommon(option.long))) {
      expect(own, command.name()).toContain(`\`${long}`);
    }
  }
});

test("cli.md has every metric with its type, and no other; the dashboard names only these", () => {
  const metrics = new RoomMetrics();
  const rooms = [{ room: "ABC234", participants: [] }];
  const types = [
    ...prometheusText(metrics.collect({ isConnected: true, rooms })).matchAll(/^# TYPE (.*)$/gm),
  ];
  const documented = tableRows(reference("cli"), ["Metric", "Type"]);
  expect(sorted(documented.map((row) => row.slice(0, 2)))).toEqual(
    sorted(types.map(([, type = ""]) => type.split(" "))),
  );
  expect(reference("cli")).toContain(`version ${SEMANTIC_CONVENTIONS_VERSION},`);
  const dashboard = text("docs/grafana/roomhub.json");
  const named = [...dashboard.matchAll(/\b(?:gen_ai_(?:server|client)|roomhub)_\w+/g)].map(
    ([name]) => name.replace(/_(?:bucket|sum|count)$/, ""),
  );
  expect(named.length).toBeGreaterThan(8);
  const known = documented.map(([name]) => name);
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
});

test("every row of these tables has a description", () => {
  const rows = [
    ...tableRows(reference("http"), ["Method", "Path"]),
    ...tableRows(reference("events"), ["Dotted", "Colon"]),
    ...tableRows(reference("events"), ["Detail", "With colons"]),
    ...tableRows(reference("errors"), ["Code", "Status"]),
    ...tableRows(reference("config"), ["Limit", "Default"]),
  ];
  expect(rows.filter((row) => row.at(-1) === "")).toEqual([]);
});

/** Where the paths of a document begin, besides the root of the checkout. */
const beginnings: Record<string, readonly string[]> = {
  "AGENTS.md": ["", "packages/hub/src"],
  "ARCHITECTURE.md": ["", "packages", "packages/hub/src"],
  "CONTRIBUTING.md": [""],
  "SECURITY.md": [""],
  "tests/README.md": ["", "tests"],
};

for (const [document, folders] of Object.entries(beginnings)) {
  test(`every path named in ${document} exists`, () => {
    const paths = namedPaths(text(document));
    expect(paths.length).toBeGreaterThan(1);
    expect(paths.filter((path) => !existsBelow(folders, path))).toEqual([]);
  });
}

test("every file in the diagrams of ARCHITECTURE.md exists", () => {
  const paths = pathsInDiagrams(text("ARCHITECTURE.md"));
  expect(paths).toContain("http/relay");
  const isMissing = (path: string): boolean =>
    !existsBelow(["packages/hub/src"], `${path}.ts`) && !existsBelow(["packages/hub/src"], path);
  expect(paths.filter(isMissing)).toEqual([]);
});

test("AGENTS.md has a row for every source folder of every package and app", () => {
  const rows = namedPaths(text("AGENTS.md"));
  const packages = globSync(["packages/*/src", "apps/*/src"], { cwd: root });
  const folders = packages.flatMap(sourceFolders).filter((folder) => folder.split("/").length <= 5);
  expect(folders).toContain("packages/hub/src/domain/");
  expect(folders.filter((folder) => !rows.includes(folder))).toEqual([]);
});

test("every link between documents leads to a file", () => {
  const documents = globSync(
    ["*.md", "llms.txt", "docs/**/*.md", "packages/*/README.md", "tests/**/*.md"],
    {
      cwd: root,
    },
  );
  const broken = documents.flatMap((path) =>
    brokenLinks({ path, text: text(path) }).map((target) => `${path}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test("docs/README.md and llms.txt lead to every guide, every reference and every other page", () => {
  const pages = globSync(["docs/*.md", "docs/guides/*.md", "docs/reference/*.md"], { cwd: root });
  const reference = (document: string, page: string) => relative(dirname(document), page);
  for (const [document, left] of [
    ["docs/README.md", ["docs/README.md"]],
    ["llms.txt", ["docs/README.md", "docs/dependencies.md", "docs/reference/openapi.md"]],
  ] as const) {
    const missing = pages.filter(
      (page) => !text(document).includes(`](${reference(document, page)})`),
    );
    expect(missing.toSorted(), document).toEqual([...left].toSorted());
  }
});

test("every guide begins with an example and is short; README.md is, too", () => {
  const words = (page: string) => page.split(/\s+/).filter(Boolean).length;
  for (const path of globSync("docs/guides/*.md", { cwd: root })) {
    const page = text(path);
    expect(words(page.split("```", 1)[0] ?? ""), path).toBeLessThan(60);
    expect(words(page), path).toBeLessThanOrEqual(700);
  }
  expect(words(text("README.md"))).toBeLessThanOrEqual(1_500);
});

test("the picture in README.md is the quickstart's transcript, small and without anything to load", () => {
  const picture = text("docs/images/first-minute.svg");
  expect(picture).toBe(firstMinute(quickstartTranscript(text("docs/guides/quickstart.md"))));
  expect(picture.length).toBeLessThan(40_000);
  expect(picture.replace('xmlns="http://www.w3.org/2000/svg"', "")).not.toMatch(
    /(?:href|src|url\(|@import|@font-face)/,
  );
  expect(text("README.md")).toContain("](docs/images/first-minute.svg)");
});

function text(document: string): string {
  return readFileSync(join(root, document), "utf8");
}

/** Rows as lines, so that a difference is easy to read. */
function sorted(rows: readonly (readonly (string | undefined)[])[]): string[] {
  return rows.map((row) => row.join(" | ")).sort();
}

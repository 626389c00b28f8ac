import { readFileSync } from "node:fs";
import { tableRows } from "../support/documents/markdown-table.ts";

/** The result of one case with one client over one setup. */
export interface Cell {
  client: string;
  /** name of a setup */
  setup: string;
  /** of the table */
  column: string;
  /** its name, which is most often the column */
  case: string;
  /** `missing`: the client cannot run on this machine */
  state: "works" | "fails" | "does not apply" | "missing";
  /** why it does not apply */
  reason?: string | undefined;
}

declare module "vitest" {
  interface TaskMeta {
    compat?: Cell;
  }
}

/** A client's row in the first table, and its rows in the second. */
export interface ClientRows {
  works: readonly string[];
  exceptions: readonly (readonly string[])[];
}

export const DOCUMENT = new URL("../../docs/compatibility.md", import.meta.url);

const exceptionsHeader = ["Client", "Case", "Over", "Why not"];

/** @param cells - all of one client, so that every case and every setup is among them */
export function rowsOf(cells: readonly Cell[]): ClientRows {
  const client = cells[0]?.client ?? "";
  const works = namesOf(cells, "column").map((column) =>
    textOf(cells.filter((cell) => cell.column === column)),
  );
  return { works: [client, ...works], exceptions: exceptionsOf(client, cells) };
}

/** @param cells - of one column: of one case, or of all cases over a setup that has its own */
function textOf(cells: readonly Cell[]): string {
  if (cells.some(({ state }) => state === "fails")) return "**fails**";
  const good = cells.filter(({ state }) => state === "works").length;
  if (good === 0) return "—";
  // Among all cases there are some that do not apply to the client over any setup.
  const isOfOneCase = cells.every((cell) => cell.column === cell.case);
  return good === cells.length || !isOfOneCase ? "yes" : `${good} of ${cells.length}`;
}

/** The rows of a client in the checked-in document. */
export function documentedRows(client: string): ClientRows {
  const text = readFileSync(DOCUMENT, "utf8");
  const ofClient = (header: readonly string[]) =>
    tableRows(text, header).filter(([name]) => name === client);
  return {
    works: ofClient(["Client", "models"])[0] ?? [],
    exceptions: ofClient(exceptionsHeader),
  };
}

/** Both tables in Markdown; clients that could not run here keep the rows they have. */
export function renderTables(cells: readonly Cell[]): string {
  const clients = Map.groupBy(cells, ({ client }) => client);
  const rows = [...clients].map(([client, ofClient]) =>
    ofClient.some(({ state }) => state === "missing") ? documentedRows(client) : rowsOf(ofClient),
  );
  return [
    renderTable(
      ["Client", ...namesOf(cells, "column")],
      rows.map(({ works }) => works),
    ),
    "What does not apply:",
    renderTable(
      exceptionsHeader,
      rows.flatMap(({ exceptions }) => exceptions),
    ),
  ].join("\n\n");
}

/** One row per reason: the cases and setups it holds for. */
function exceptionsOf(client: string, cells: readonly Cell[]): string[][] {
  const byReason = Map.groupBy(cells, ({ reason }) => reason);
  byReason.delete(undefined);
  return [...byReason].map(([reason = "", group]) => [
    client,
    namesOrAll(group, cells, "case"),
    namesOrAll(group, cells, "setup"),
    reason,
  ]);
}

function namesOf(cells: readonly Cell[], key: "setup" | "column" | "case"): string[] {
  return [...new Set(cells.map((cell) => cell[key]))];
}

function namesOrAll(some: readonly Cell[], all: readonly Cell[], key: "setup" | "case"): string {
  const names = namesOf(some, key);
  return names.length === namesOf(all, key).length ? "all" : names.join("; ");
}

function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = header.map(() => "---");
  return [header, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

import { readFileSync } from "node:fs";
import { tableRows } from "../support/documents/markdown-table.ts";

/** What became of one case with one client over one setup. */
export interface Cell {
  client: string;
  /** name of a setup */
  setup: string;
  /** of a case */
  column: string;
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
  const works = namesOf(cells, "column").map((column) => {
    const inColumn = cells.filter((cell) => cell.column === column);
    if (inColumn.some(({ state }) => state === "fails")) return "**fails**";
    const good = inColumn.filter(({ state }) => state === "works").length;
    if (good === 0) return "—";
    return good === inColumn.length ? "yes" : `${good} of ${inColumn.length}`;
  });
  return { works: [client, ...works], exceptions: exceptionsOf(client, cells) };
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
    namesOrAll(group, cells, "column"),
    namesOrAll(group, cells, "setup"),
    reason,
  ]);
}

function namesOf(cells: readonly Cell[], key: "setup" | "column"): string[] {
  return [...new Set(cells.map((cell) => cell[key]))];
}

function namesOrAll(some: readonly Cell[], all: readonly Cell[], key: "setup" | "column"): string {
  const names = namesOf(some, key);
  return names.length === namesOf(all, key).length ? "all" : names.join("; ");
}

function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = header.map(() => "---");
  return [header, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

import { expect, test } from "vitest";
import { tableRows } from "./markdown-table.ts";

test("rows come from every table with that header, and from no other", () => {
  const markdown = [
    "| Code | Status | |",
    "|:--|---|--:|",
    "| `one` | 400 | first |",
    "|`two`|`401`||",
    "",
    "| Other | Status |",
    "|---|---|",
    "| `three` | 402 |",
    "text | with | pipes",
    "| code | STATUS |",
    "|---|---|",
    "| `fo|ur` | a \\| b |",
  ].join("\n");
  expect(tableRows(markdown, ["Code", "Status"])).toEqual([
    ["one", "400", "first"],
    ["two", "401", ""],
    ["fo|ur", "a \\| b"],
  ]);
});

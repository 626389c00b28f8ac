import { type Command, Option } from "commander";
import type { CliContext } from "../../context.ts";
import { CommandError } from "../../exit-code.ts";
import { addJsonOption, examples } from "../../options.ts";
import { reportHtml } from "./report-html.ts";
import { type Report, ReportSums } from "./report-sums.ts";
import { formatTable, reasonOf, safe, writeJson } from "../../terminal/text.ts";
import { usageJson } from "./usage-sums.ts";
import { reportRemarks, reportSummary, reportTables } from "./report-tables.ts";

interface ReportOptionValues {
  json?: boolean;
  html?: boolean;
}

export function addReportCommand(program: Command, context: CliContext): void {
  addJsonOption(program.command("report"))
    .argument("<file...>", "recordings of roomhub record")
    .description("sum up recordings: requests, errors, speed, usage")
    .addOption(new Option("--html", "print one HTML page").conflicts("json"))
    .addHelpText("after", examples("roomhub report lab*.ndjson --html > lab.html"))
    .action((files: string[], options: ReportOptionValues) => report(context, files, options));
}

async function report(
  context: CliContext,
  files: readonly string[],
  { json = false, html = false }: ReportOptionValues,
): Promise<void> {
  const sums = new ReportSums();
  for (const file of files) await readInto(context, sums, file);
  const result = sums.report();
  if (json) writeJson(context.stdout, { ...result, usage: result.usage.map(usageJson) });
  else if (html) context.stdout.write(reportHtml(result));
  else context.stdout.write(reportText(result, context.stdout.columns));
}

async function readInto(context: CliContext, sums: ReportSums, file: string): Promise<void> {
  try {
    for await (const line of context.readLines(file)) sums.note(line);
  } catch (error) {
    throw new CommandError(
      `The recording cannot be read: ${reasonOf(error)}`,
      "record a room: roomhub record ABC234 --out FILE",
    );
  }
}

/** A report for a terminal: a sentence, and tables with an empty line before each. */
function reportText(report: Report, columns: number | undefined): string {
  const sentences = [reportSummary(report), ...reportRemarks(report)];
  const tables = reportTables(report).map(({ headings, rows }) =>
    formatTable(
      headings,
      rows.map((row) => row.map(safe)),
      columns,
    ),
  );
  return [sentences.map((line) => `${safe(line)}\n`).join(""), ...tables].join("\n");
}

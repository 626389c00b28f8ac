/** A row of a table, its cells without the backticks around them. */
export type TableRow = readonly string[];

/**
 * The rows of every table of a document whose header begins with these words, in any letter case. Pipes inside
 * backticks and escaped ones belong to their cell.
 */
export function tableRows(markdown: string, header: readonly string[]): TableRow[] {
  const rows: TableRow[] = [];
  let isWanted = false;
  let isInTable = false;
  for (const line of markdown.split(/\r?\n/)) {
    if (!line.trimStart().startsWith("|")) {
      isInTable = false;
      continue;
    }
    const cells = cellsOf(line);
    if (!isInTable) {
      isInTable = true;
      isWanted = header.every((word, index) => cells[index]?.toLowerCase() === word.toLowerCase());
    } else if (isWanted && !isRule(cells)) {
      rows.push(cells);
    }
  }
  return rows;
}

function cellsOf(line: string): string[] {
  // A pipe with an even number of backticks behind it stands outside of them.
  const cells = line.trim().split(/(?<!\\)\|(?=(?:[^`]*`[^`]*`)*[^`]*$)/);
  return cells.slice(1, -1).map((cell) => cell.trim().replace(/^`([^`]*)`$/, "$1"));
}

function isRule(cells: TableRow): boolean {
  return cells.every((cell) => /^:?-*:?$/.test(cell));
}

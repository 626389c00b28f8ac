import type { ComponentChildren, VNode } from "preact";

export interface TableProps {
  heads: string[];
  /** the first cells name the row */
  rows: [string, string, ...ComponentChildren[]][];
  /** instead of a table without rows */
  empty: string;
}

/** A table whose rows may move. */
export function Table({ heads, rows, empty }: TableProps): VNode {
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  const keys = rows.map(([first, second]) => `${first}\n${second}`);
  return <Grid label={`${heads[0]} table`} {...{ heads, rows, keys }} />;
}

interface GridProps {
  /** for screen readers */
  label: string;
  heads: ComponentChildren[];
  rows: ComponentChildren[][];
  /** of the rows; default: their places */
  keys?: string[];
}

/** A table that scrolls where it is wider than the page. */
export function Grid({ label, heads, rows, keys }: GridProps): VNode {
  return (
    <div class="table" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {heads.map((head, column) => (
              <th key={column} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, index) => (
            <tr key={keys?.[index] ?? index}>
              {cells.map((cell, column) => (
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

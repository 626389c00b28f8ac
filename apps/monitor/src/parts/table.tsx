import type { ComponentChildren, VNode } from "preact";

export interface TableProps {
  heads: string[];
  /** the first cells name the row */
  rows: [string, string, ...ComponentChildren[]][];
  /** instead of a table without rows */
  empty: string;
}

/** A table that scrolls where it is wider than the page. */
export function Table({ heads, rows, empty }: TableProps): VNode {
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  return (
    <div class="table" tabIndex={0} role="region" aria-label={`${heads[0]} table`}>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells) => (
            <tr key={`${cells[0]}\n${cells[1]}`}>
              {cells.map((cell, index) => (
                <td key={heads[index]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

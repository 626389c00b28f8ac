import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Case, CASES } from "./cases.ts";
import type { CompatClient, Present } from "./client.ts";
import { type CompatWorld, type Setup, SETUPS, startCompatWorld } from "./setups.ts";
import { type Cell, documentedRows, rowsOf } from "./table.ts";

/** Every case of the matrix with one client over every setup; the documentation is compared with the results. */
export function describeClient(client: CompatClient, start = () => startCompatWorld()): void {
  const { name, missing } = client;
  if (missing !== undefined) {
    test(`${name} is not run: ${missing}`, ({ skip, task }) => {
      const [setup] = SETUPS as [Setup];
      const [{ column }] = CASES as [Case];
      const cell = { client: name, setup: setup.name, column, case: column };
      task.meta.compat = { ...cell, state: "missing" };
      skip(missing);
    });
    return;
  }
  describe(name, () => {
    const cells: Cell[] = [];
    let world: CompatWorld | undefined;
    beforeAll(async () => {
      world = await start();
    });
    afterAll(() => world?.[Symbol.asyncDispose]());

    for (const setup of SETUPS) {
      describe(`over ${setup.name}`, () => {
        for (const single of CASES) {
          if (setup.without?.includes(single.column) === true) continue;
          test(single.title, async ({ skip, task }) => {
            const cell = newCell(client, setup, single);
            task.meta.compat = cell;
            cells.push(cell);
            if (world === undefined || cell.reason !== undefined) return skip(cell.reason);
            const { target, provider, checkAnswers } = world.room(setup);
            // It uses the operations it needs, which are there.
            await single.run(client.does as Present<CompatClient["does"]>, target, provider);
            checkAnswers();
            cell.state = "works";
          });
        }
      });
    }

    test("is in docs/compatibility.md as it was seen here", () => {
      expect(documentedRows(name)).toEqual(rowsOf(cells));
    });
  });
}

/** Counts as failed until it works. */
function newCell(client: CompatClient, setup: Setup, single: Case): Cell {
  const cell: Cell = {
    client: client.name,
    setup: setup.name,
    column: setup.column ?? single.column,
    case: single.column,
    state: "fails",
  };
  const reason = reasonAgainst(single, client) ?? client.cannot?.(single.column, setup.shape);
  return reason === undefined ? cell : { ...cell, state: "does not apply", reason };
}

function reasonAgainst(single: Case, client: CompatClient): string | undefined {
  for (const name of single.needs) {
    const operation = client.does[name];
    if (typeof operation !== "function") return operation.reason;
  }
  return undefined;
}

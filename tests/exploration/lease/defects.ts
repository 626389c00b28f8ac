import { type Budget, noBudget, product, type Rules } from "./cluster.ts";

interface Defect {
  name: string;
  /** What has to happen for it to show. */
  budget: Budget;
  rules: Rules;
}

const moved = { ...noBudget, suspicions: 1 };

/** Those marked with "once" were defects of this repository. */
export const leaseDefects: Defect[] = [
  {
    name: "a home believes its lease after its epoch",
    budget: moved,
    rules: {
      ...product,
      advance: (record, event, self, number) => {
        const isOver = record.state.kind === "home" && event.kind === "stored" && !event.isRead;
        return isOver ? { record, effects: [] } : product.advance(record, event, self, number);
      },
    },
  },
  {
    name: "a hub takes a room over with the epoch of the home before",
    budget: moved,
    rules: {
      ...product,
      advance: (record, event, self, number) => {
        const turn = product.advance(record, event, self, number);
        const { state } = turn.record;
        if (event.kind !== "wanted" || state.kind !== "taking" || state.over === undefined)
          return turn;
        const wanted = { ...state.wanted, epoch: state.over.home.epoch };
        return {
          record: { ...turn.record, state: { ...state, wanted } },
          effects: [{ kind: "write", home: wanted, expected: state.over.revision }],
        };
      },
    },
  },
  {
    name: "a hand-over counts before it is written",
    budget: { ...noBudget, handOvers: 1 },
    rules: {
      ...product,
      advance: (record, event, self, number) => {
        const turn = product.advance(record, event, self, number);
        const [write] = turn.effects;
        if (event.kind !== "accepted" || write?.kind !== "write") return turn;
        const stored = { home: write.home, revision: write.expected + 1 };
        return product.advance(turn.record, { kind: "written", stored }, self, number);
      },
    },
  },
  {
    name: "a registration is confirmed without a look at the directory",
    budget: { ...moved, joins: "a" },
    rules: { ...product, mayConfirm: () => true },
  },
  {
    name: "a read that failed is not repeated",
    budget: { ...moved, cuts: 1 },
    rules: {
      ...product,
      advance: (record, event, self, number) => {
        if (event.kind === "directoryUp" || event.kind === "retry") return { record, effects: [] };
        return product.advance(record, event, self, number);
      },
    },
  },
  {
    name: "a reply counts that a report has overtaken (once)",
    budget: { ...moved, cuts: 1, suspensions: 1 },
    rules: {
      ...product,
      advance: (record, event, self, number) => {
        const read = record.read && { ...record.read, isOvertaken: false };
        return product.advance({ ...record, read }, event, self, number);
      },
    },
  },
];

import { clientText, type HubEvent } from "@roomhub/protocol";
import { plusTokens, type TokenSum, tokensOf } from "@roomhub/room-state";

/** What one person used of one model of one participant. */
export interface UsageRow {
  /** a client's name or fingerprint; `-` when it reveals nothing, `others` beyond the limit */
  person: string;
  /** `-` for requests that reached none */
  participantId: string;
  /** the participant's model name */
  model: string;
  /** that ended, failed ones included */
  requests: number;
  errors: number;
  /** of complete responses; undefined while there is none */
  inputTokens: TokenSum | undefined;
  outputTokens: TokenSum | undefined;
  /** the part of the input tokens that the model server had cached */
  cachedInputTokens: TokenSum | undefined;
}

const tokenFields = ["inputTokens", "outputTokens", "cachedInputTokens"] as const;

/** A row for programs: tokens that are not known are null, and `estimated` names the sums that lack some responses. */
export function usageJson(row: UsageRow): object {
  const tokens = tokenFields.map((field) => {
    const sum = row[field];
    return [field, sum === undefined || sum.worth === "unknown" ? null : sum.tokens];
  });
  const estimated = tokenFields.filter((field) => row[field]?.worth === "estimate");
  return { ...row, ...Object.fromEntries(tokens), estimated };
}

const maxPersons = 1_000;
const maxRows = 10_000;
const others = "others";
const unknown = "-";

/** Sums the requests of an event stream per person, participant and model. Memory is bounded. */
export class UsageSums {
  readonly #persons = new Set<string>();
  readonly #rows = new Map<string, UsageRow>();
  #changed = new Set<UsageRow>();

  /** Events other than the ends of requests change nothing. */
  note(event: HubEvent): void {
    if (event.type !== "llm.complete" && event.type !== "llm.error") return;
    const row = this.#rowOf(event);
    row.requests++;
    if (event.type === "llm.error") row.errors++;
    else {
      const { metrics } = event;
      for (const field of tokenFields)
        row[field] = plusTokens(row[field], tokensOf(metrics[field]));
    }
    this.#changed.add(row);
  }

  /** Those with most tokens first. */
  rows(): UsageRow[] {
    return [...this.#rows.values()].sort(
      (one, other) => allTokens(other) - allTokens(one) || other.requests - one.requests,
    );
  }

  /** @returns the rows that changed since the last call */
  takeChanged(): UsageRow[] {
    const changed = [...this.#changed];
    this.#changed = new Set();
    return changed;
  }

  #rowOf({ client, participantId, model }: HubEvent & { type: "llm.complete" | "llm.error" }) {
    const person = this.#known(clientText(client) ?? unknown);
    // Before a selection, `model` is whatever the client requested.
    const where =
      participantId === null || model === null
        ? { participantId: unknown, model: unknown }
        : { participantId, model };
    return this.#row({ person, ...where });
  }

  #known(person: string): string {
    if (this.#persons.has(person)) return person;
    if (this.#persons.size >= maxPersons) return others;
    this.#persons.add(person);
    return person;
  }

  #row(of: Pick<UsageRow, "person" | "participantId" | "model">): UsageRow {
    const key = JSON.stringify([of.person, of.participantId, of.model]);
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    if (this.#rows.size >= maxRows && of.participantId !== others) {
      return this.#row({ person: others, participantId: others, model: others });
    }
    const none = { inputTokens: undefined, outputTokens: undefined, cachedInputTokens: undefined };
    const row: UsageRow = { ...of, requests: 0, errors: 0, ...none };
    this.#rows.set(key, row);
    return row;
  }
}

function allTokens({ inputTokens, outputTokens }: UsageRow): number {
  return (inputTokens?.tokens ?? 0) + (outputTokens?.tokens ?? 0);
}

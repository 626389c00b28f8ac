import { clientText, type HubEvent } from "@roomhub/protocol";
import { plusTokens, type TokenSum, tokensOf } from "@roomhub/room-state";
import { type Point, Series } from "../metrics/series.ts";

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
  readonly #rows = new Series<Used, Pick<UsageRow, "person" | "participantId" | "model">>(
    unused,
    maxRows,
    others,
  );
  #changed = new Set<UsagePoint>();

  /** Events other than the ends of requests change nothing. */
  note(event: HubEvent): void {
    if (event.type !== "llm.complete" && event.type !== "llm.error") return;
    const point = this.#pointOf(event);
    const used = point.value;
    used.requests++;
    if (event.type === "llm.error") used.errors++;
    else {
      const { metrics } = event;
      for (const field of tokenFields)
        used[field] = plusTokens(used[field], tokensOf(metrics[field]));
    }
    this.#changed.add(point);
  }

  /** Those with most tokens first. */
  rows(): UsageRow[] {
    return this.#rows.points
      .map(rowOf)
      .sort((one, other) => allTokens(other) - allTokens(one) || other.requests - one.requests);
  }

  /** @returns the rows that changed since the last call */
  takeChanged(): UsageRow[] {
    const changed = [...this.#changed].map(rowOf);
    this.#changed = new Set();
    return changed;
  }

  #pointOf({ client, participantId, model }: HubEvent & { type: "llm.complete" | "llm.error" }) {
    const person = this.#known(clientText(client) ?? unknown);
    // Before a selection, `model` is whatever the client requested.
    const where =
      participantId === null || model === null
        ? { participantId: unknown, model: unknown }
        : { participantId, model };
    return this.#rows.at({ person, ...where });
  }

  #known(person: string): string {
    if (this.#persons.has(person)) return person;
    if (this.#persons.size >= maxPersons) return others;
    this.#persons.add(person);
    return person;
  }
}

type Used = Omit<UsageRow, "person" | "participantId" | "model">;
type UsagePoint = Point<Used, Pick<UsageRow, "person" | "participantId" | "model">>;

function unused(): Used {
  const none = { inputTokens: undefined, outputTokens: undefined, cachedInputTokens: undefined };
  return { requests: 0, errors: 0, ...none };
}

function rowOf({ labels, value }: UsagePoint): UsageRow {
  return { ...labels, ...value };
}

function allTokens({ inputTokens, outputTokens }: UsageRow): number {
  return (inputTokens?.tokens ?? 0) + (outputTokens?.tokens ?? 0);
}

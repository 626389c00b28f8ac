import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import { type OutputItem, ResponseResource, StreamEvent } from "./open-responses-schema.ts";

/** @returns what is wrong with a response object by the rules of Open Responses 2026-04-24; empty when nothing is */
export function checkResponse(value: unknown): string[] {
  const { data, error } = ResponseResource.safeParse(value);
  if (error !== undefined) return told("response", error);
  const { status } = data;
  return [
    ...unless(
      (data.completed_at !== null) === (status === "completed"),
      `${status}: completed_at ${data.completed_at}`,
    ),
    ...unless(
      (data.incomplete_details !== null) === (status === "incomplete"),
      `${status}: incomplete_details ${JSON.stringify(data.incomplete_details)}`,
    ),
    ...unless(
      (data.error !== null) === (status === "failed"),
      `${status}: error ${JSON.stringify(data.error)}`,
    ),
    ...unless(
      status !== "completed" ||
        data.output.every((item) => (statusOf(item) ?? status) === "completed"),
      "completed: an item of the output is not",
    ),
    ...unless(
      status === "in_progress" || data.output.every((item) => statusOf(item) !== "in_progress"),
      `${status}: an item of the output is in progress`,
    ),
    ...unless(
      new Set(data.output.map(({ id }) => id)).size === data.output.length,
      "two items of the output have one id",
    ),
  ];
}

/**
 * @param events - the contents of a stream's `data:` lines, in order: parsed JSON, and `[DONE]` as that text
 * @returns what is wrong with it: shapes, numbers, order, and whether the pieces add up to the final text
 */
export function checkEvents(events: readonly unknown[]): string[] {
  const problems = unless(events.at(-1) === "[DONE]", "the last data is not [DONE]");
  const check = new OrderCheck();
  for (const [at, value] of events.entries()) {
    if (value === "[DONE]" && at === events.length - 1) continue;
    const { data, error } = StreamEvent.safeParse(value);
    if (error === undefined) {
      problems.push(...check.take(data).map((problem) => `event ${at}, ${data.type}: ${problem}`));
    } else {
      problems.push(...told(`event ${at}`, error));
    }
  }
  return [...problems, ...check.end()];
}

interface OpenPart {
  kind: string;
  /** all deltas together */
  text: string;
  isTextDone: boolean;
}

interface OpenItem {
  id: string;
  type: OutputItem["type"];
  /** the one part that is open; calls have one without a beginning of its own */
  part: OpenPart | undefined;
  partCount: number;
  /** the texts of the closed parts */
  texts: string[];
}

/** Follows a stream from `response.created` to its terminal event. */
class OrderCheck {
  #nextSequenceNumber = 0;
  #phase: "before created" | "before in_progress" | "items" | "after error" | "over" =
    "before created";
  #responseId = "";
  readonly #open = new Map<number, OpenItem>();
  /** by output_index, in the order they were done */
  readonly #done = new Map<number, OutputItem>();
  readonly #ids = new Set<string>();
  #itemCount = 0;

  take(event: StreamEvent): string[] {
    const expected = this.#nextSequenceNumber++;
    return [
      ...unless(
        event.sequence_number === expected,
        `sequence_number ${event.sequence_number} where ${expected} is due`,
      ),
      ...this.#inPhase(event),
    ];
  }

  end(): string[] {
    return unless(this.#phase === "over", `the stream ends ${this.#phase}`);
  }

  #inPhase(event: StreamEvent): string[] {
    switch (event.type) {
      case "response.created":
        return [...this.#move("before created", "before in_progress"), ...this.#snapshot(event)];
      case "response.queued":
        return [
          ...this.#move("before in_progress", "before in_progress"),
          ...this.#snapshot(event),
        ];
      case "response.in_progress":
        return [...this.#move("before in_progress", "items"), ...this.#snapshot(event)];
      case "error":
        return this.#move("items", "after error");
      case "response.failed": {
        const from = this.#phase === "after error" ? "after error" : "items";
        return [...this.#move(from, "over"), ...this.#snapshot(event)];
      }
      case "response.completed":
      case "response.incomplete":
        return [...this.#move("items", "over"), ...this.#snapshot(event), ...this.#whole(event)];
      default:
        return [...unless(this.#phase === "items", `not ${this.#phase}`), ...this.#inItems(event)];
    }
  }

  #move(from: string, to: "before in_progress" | "items" | "after error" | "over"): string[] {
    const problems = unless(this.#phase === from, `not ${this.#phase}`);
    this.#phase = to;
    return problems;
  }

  #snapshot(event: Extract<StreamEvent, { response: unknown }>): string[] {
    const { id, status } = event.response;
    const expected =
      event.type === "response.created" ? status : event.type.slice("response.".length);
    if (event.type === "response.created") this.#responseId = id;
    return [
      ...checkResponse(event.response),
      ...unless(id === this.#responseId, `the response is ${id}, not ${this.#responseId}`),
      ...unless(status === expected, `the response is ${status}`),
    ];
  }

  #whole(event: Extract<StreamEvent, { response: unknown }>): string[] {
    return [
      ...unless(this.#open.size === 0, `items ${[...this.#open.keys()].join()} are still open`),
      ...unless(
        isDeepStrictEqual(event.response.output, this.#output()),
        "the output is not the items that were done",
      ),
    ];
  }

  #output(): OutputItem[] {
    const byIndex = [...this.#done].sort(([left], [right]) => left - right);
    return byIndex.map(([, item]) => item);
  }

  #inItems(event: StreamEvent): string[] {
    if (event.type === "response.output_item.added") return this.#itemAdded(event);
    if (!("output_index" in event)) return ["not among items"];
    const item = this.#open.get(event.output_index);
    if (item === undefined) return [`item ${event.output_index} is not open`];
    if (event.type === "response.output_item.done") return this.#itemDone(item, event);
    return [
      ...unless(event.item_id === item.id, `item_id ${event.item_id} is not ${item.id}`),
      ...inItem(item, event),
    ];
  }

  #itemAdded({ output_index: at, item }: Extract<StreamEvent, { item: unknown }>): string[] {
    const others = [...this.#open.values()].filter(({ type }) => !isCall(type));
    const part = isCall(item.type) ? openPart(item.type) : undefined;
    const isNew = !this.#ids.has(item.id);
    this.#ids.add(item.id);
    this.#open.set(at, { id: item.id, type: item.type, part, partCount: 0, texts: [] });
    return [
      ...unless(at === this.#itemCount++, `output_index ${at} where ${this.#itemCount - 1} is due`),
      ...unless(others.length === 0, "the item before it is still open"),
      ...unless(statusOf(item) !== "completed" && textsOf(item).join("") === "", "it is not empty"),
      ...unless(isNew, `the id ${item.id} is taken`),
    ];
  }

  #itemDone(open: OpenItem, event: Extract<StreamEvent, { item: unknown }>): string[] {
    const { item, output_index: at } = event;
    this.#open.delete(at);
    this.#done.set(at, item);
    const isPartOpen = isCall(open.type)
      ? open.part?.isTextDone === false
      : open.part !== undefined;
    const texts = isCall(open.type) ? [open.part?.text ?? ""] : open.texts;
    return [
      ...unless(item.id === open.id && item.type === open.type, "it is another item"),
      ...unless(!isPartOpen, "its content is still open"),
      ...unless(statusOf(item) !== "in_progress", "it is still in progress"),
      ...unless(isDeepStrictEqual(textsOf(item), texts), "its text differs from its deltas"),
    ];
  }
}

/** An event inside an item: parts begin and end, deltas fall into the open one. */
function inItem(item: OpenItem, event: StreamEvent): string[] {
  switch (event.type) {
    case "response.content_part.added":
      return partAdded(item, ["message", "reasoning"], event.part.type, event.content_index);
    case "response.reasoning_summary_part.added":
      return partAdded(item, ["reasoning"], event.part.type, event.summary_index);
    case "response.content_part.done":
      return partDone(item, event.part, event.content_index);
    case "response.reasoning_summary_part.done":
      return partDone(item, event.part, event.summary_index);
    case "response.output_text.annotation.added":
      return inPart(item, "output_text", event.content_index, () => []);
    case "response.output_text.delta":
      return deltaIn(item, "output_text", event.content_index, event.delta);
    case "response.output_text.done":
      return textDone(item, "output_text", event.content_index, event.text);
    case "response.refusal.delta":
      return deltaIn(item, "refusal", event.content_index, event.delta);
    case "response.refusal.done":
      return textDone(item, "refusal", event.content_index, event.refusal);
    case "response.reasoning.delta":
      return deltaIn(item, "reasoning_text", event.content_index, event.delta);
    case "response.reasoning.done":
      return textDone(item, "reasoning_text", event.content_index, event.text);
    case "response.reasoning_summary_text.delta":
      return deltaIn(item, "summary_text", event.summary_index, event.delta);
    case "response.reasoning_summary_text.done":
      return textDone(item, "summary_text", event.summary_index, event.text);
    case "response.function_call_arguments.delta":
      return deltaIn(item, "function_call", 0, event.delta);
    case "response.function_call_arguments.done":
      return textDone(item, "function_call", 0, event.arguments);
    case "response.custom_tool_call_input.delta":
      return deltaIn(item, "custom_tool_call", 0, event.delta);
    case "response.custom_tool_call_input.done":
      return textDone(item, "custom_tool_call", 0, event.input);
    default:
      return ["not inside an item"];
  }
}

function partAdded(item: OpenItem, allowed: string[], kind: string, index: number): string[] {
  const problems = [
    ...unless(allowed.includes(item.type), `not in a ${item.type}`),
    ...unless(item.part === undefined, "the part before it is still open"),
    ...unless(index === item.partCount, `index ${index} where ${item.partCount} is due`),
  ];
  item.partCount++;
  item.part = openPart(kind);
  return problems;
}

function partDone(item: OpenItem, said: { type: string }, index: number): string[] {
  return inPart(item, said.type, index, (part) => {
    item.part = undefined;
    item.texts.push(part.text);
    return [
      ...unless(part.isTextDone, "its text is not done"),
      ...unless(textOf(said) === part.text, "its text differs from its deltas"),
    ];
  });
}

function deltaIn(item: OpenItem, kind: string, index: number, delta: string): string[] {
  return inPart(item, kind, index, (part) => {
    part.text += delta;
    return unless(!part.isTextDone, "its text was done");
  });
}

function textDone(item: OpenItem, kind: string, index: number, text: string): string[] {
  return inPart(item, kind, index, (part) => {
    const problems = unless(!part.isTextDone, "its text was done");
    part.isTextDone = true;
    return [...problems, ...unless(text === part.text, "its text differs from its deltas")];
  });
}

function inPart(
  item: OpenItem,
  kind: string,
  index: number,
  check: (part: OpenPart) => string[],
): string[] {
  const at = isCall(item.type) ? 0 : item.partCount - 1;
  if (item.part === undefined) return ["no part is open"];
  return [
    ...unless(item.part.kind === kind, `the open part is ${item.part.kind}`),
    ...unless(index === at, `index ${index} where ${at} is open`),
    ...check(item.part),
  ];
}

function openPart(kind: string): OpenPart {
  return { kind, text: "", isTextDone: false };
}

function isCall(type: OutputItem["type"]): boolean {
  return type === "function_call" || type === "custom_tool_call";
}

/** @returns undefined for a compaction, and for reasoning without text */
function statusOf(item: OutputItem): string | undefined {
  return "status" in item ? item.status : undefined;
}

/** The texts of an item, part by part. */
function textsOf(item: OutputItem): string[] {
  switch (item.type) {
    case "message":
      return item.content.map(textOf);
    case "reasoning":
      return [...item.summary, ...(item.content ?? [])].map(textOf);
    case "function_call":
      return [item.arguments];
    case "custom_tool_call":
      return [item.input];
    case "compaction":
      return [];
  }
}

function textOf(part: { type: string; text?: string; refusal?: string }): string {
  return part.text ?? part.refusal ?? "";
}

function told(where: string, error: z.ZodError): string[] {
  return error.issues.map(({ path, message }) => `${where}: ${path.join(".")}: ${message}`);
}

function unless(isRight: boolean, problem: string): string[] {
  return isRight ? [] : [problem];
}

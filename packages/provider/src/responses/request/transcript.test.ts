import * as fc from "fast-check";
import { expect, test } from "vitest";
import { messagesOf } from "../translate.fixture.ts";

interface Message {
  role: string;
  content: unknown;
  reasoning_content?: string;
  tool_calls?: { id: string; function: { arguments: string } }[];
  tool_call_id?: string;
}

type Item = Record<string, unknown>;

/** Items whose texts are `<0>`, `<1>`, … in order; calls and outputs have ids. */
class Conversation {
  readonly items: Item[] = [];
  texts = 0;
  calls = 0;

  text(): string {
    return `<${this.texts++}>`;
  }

  add(item: Item): void {
    this.items.push(item);
  }

  call(): string {
    const id = `call_${this.calls++}`;
    this.add({ type: "function_call", call_id: id, name: "a", arguments: `"${this.text()}"` });
    return id;
  }

  output(id: string): void {
    this.add({ type: "function_call_output", call_id: id, output: this.text() });
  }

  message(role: string): void {
    const parts = [this.text(), this.text()].map((text) => ({ type: "input_text", text }));
    this.add({ type: "message", role, content: parts });
  }

  think(): void {
    this.add({ type: "reasoning", summary: [{ type: "summary_text", text: this.text() }] });
  }
}

function textsIn(messages: Message[]): string[] {
  const all = messages.map(({ reasoning_content, content, tool_calls }) =>
    JSON.stringify([reasoning_content, content, tool_calls]),
  );
  return all.join("").match(/<\d+>/g) ?? [];
}

function expectedTexts(conversation: Conversation): string[] {
  return Array.from({ length: conversation.texts }, (_, n) => `<${n}>`);
}

const orderlyTurn = fc.oneof(
  fc.record({ role: fc.constantFrom("user", "system", "developer") }),
  fc.record({
    role: fc.constant("assistant"),
    isReasoning: fc.boolean(),
    isSpoken: fc.boolean(),
    calls: fc.nat(3),
  }),
);

test("in a conversation that is in order every text is found again, in order", () => {
  fc.assert(
    fc.property(fc.array(orderlyTurn, { minLength: 1 }), (turns) => {
      const conversation = new Conversation();
      for (const turn of turns) {
        if (!("calls" in turn)) conversation.message(turn.role);
        else {
          if (turn.isReasoning) conversation.think();
          if (turn.isSpoken) conversation.message("assistant");
          const ids = Array.from({ length: turn.calls }, () => conversation.call());
          for (const id of ids) conversation.output(id);
        }
      }
      fc.pre(conversation.items.length > 0);
      const messages = messagesOf(conversation.items) as Message[];
      expect(textsIn(messages)).toEqual(expectedTexts(conversation));
    }),
  );
});

const anyStep = fc.oneof(
  fc.constantFrom("user", "system", "assistant", "think", "call"),
  fc.record({ output: fc.nat(8) }),
);

test("in whatever order items come, nothing is lost, and each output follows its call at once", () => {
  fc.assert(
    fc.property(fc.array(anyStep, { minLength: 1, maxLength: 40 }), (steps) => {
      const conversation = new Conversation();
      for (const step of steps) {
        if (step === "think") conversation.think();
        else if (step === "call") conversation.call();
        else if (typeof step === "string") conversation.message(step);
        else conversation.output(`call_${step.output}`);
      }
      const messages = messagesOf(conversation.items) as Message[];
      expect(textsIn(messages).toSorted()).toEqual(expectedTexts(conversation).toSorted());
      expectOutputsAtCalls(messages, conversation.items);
    }),
  );
});

function expectOutputsAtCalls(messages: Message[], items: Item[]): void {
  let open: string[] = [];
  for (const message of messages) {
    const { tool_call_id: id } = message;
    if (id === undefined) open = message.tool_calls?.map((call) => call.id) ?? [];
    // An output that came before its call, or without one, has nowhere else to be.
    else if (isAnswered(items, id)) expect(open).toContain(id);
  }
}

function isAnswered(items: Item[], id: string): boolean {
  return items.find((item) => item["call_id"] === id)?.["type"] === "function_call";
}

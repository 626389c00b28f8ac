import type { CallDialect, ChatScript, ScriptedCall, Speech } from "./chat-script.ts";

const model = "provider-model";
const counts = {
  prompt_tokens: 7,
  completion_tokens: 5,
  total_tokens: 12,
  completion_tokens_details: { reasoning_tokens: 2 },
};

/** The script as one chat completion. Only for a script in order. */
export function asCompletion(script: ChatScript): object {
  const said = (kind: Speech["kind"]) => script.speech.find((spoken) => spoken.kind === kind);
  const content = said("content");
  const message = {
    role: "assistant",
    content: content?.pieces.join("") ?? null,
    refusal: said("refusal")?.pieces.join("") ?? null,
    reasoning_content: said("reasoning_content")?.pieces.join(""),
    tool_calls: script.calls.map((call, at) => ({
      id: script.dialect === "bare" ? undefined : idOf(at),
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    })),
  };
  const logprobs = { content: content?.pieces.flatMap((piece) => logProbs(content, piece)) };
  return {
    object: "chat.completion",
    model,
    choices: [{ index: 0, message, logprobs, finish_reason: script.finishReason }],
    usage: script.usage === "none" ? undefined : counts,
  };
}

/** The script as the bytes of a chat stream. */
export function asStream(script: ChatScript): Buffer {
  return Buffer.from(eventsOf(script).join(""));
}

/** @returns whole events; the last ones are the finish reason, the usage and `[DONE]`, as far as there are such */
export function eventsOf({ wire, ...script }: ChatScript): string[] {
  const usage = script.usage === "on every chunk" ? { usage: counts } : {};
  const chunk = (delta: object, logprobs: object[], finish: string | null = null) => ({
    object: "chat.completion.chunk",
    model,
    choices: [{ index: 0, delta, logprobs: { content: logprobs }, finish_reason: finish }],
    ...usage,
  });
  const chunks: object[] = [
    chunk({ role: "assistant", content: "" }, []),
    ...deltasOf({ wire, ...script }).map(({ delta, logprobs }) => chunk(delta, logprobs)),
  ];
  const finish = chunk({}, [], script.finishReason);
  chunks.push(script.usage === "on the finish chunk" ? { ...finish, usage: counts } : finish);
  if (script.usage === "on a chunk of its own") chunks.push({ model, choices: [], usage: counts });

  const end = wire.lineEnd;
  const event = (data: string) => `data:${wire.hasBlank ? " " : ""}${data}${end}${end}`;
  const noise = wire.hasNoise ? `: keepalive${end}${end}id: 1${end}` : "";
  const events = chunks.map((value) => noise + event(JSON.stringify(value)));
  return wire.hasDone ? [...events, event("[DONE]")] : events;
}

interface Delta {
  delta: object;
  logprobs: object[];
}

/** Texts and calls are queues; in order, one after the other, else the one whose turn it is sends its next piece. */
function deltasOf(script: ChatScript): Delta[] {
  const speech = script.speech.flatMap((spoken) =>
    spoken.pieces.map((piece) => ({
      delta: { [spoken.kind]: piece },
      logprobs: logProbs(spoken, piece),
    })),
  );
  const calls = script.calls.map((call, at) => piecesOf(call, at, script.dialect));
  const isMixable = script.dialect !== "bare" && script.dialect !== "zero";
  const callQueues = isMixable ? calls : [calls.flat()];
  if (script.isInOrder) return [...speech, ...mixed(callQueues, script.turns)];
  return mixed([speech, ...callQueues], script.turns);
}

/** Takes from the queues in turns. A queue begins only after those before it, so that calls begin in their order. */
function mixed(queues: Delta[][], turns: number[]): Delta[] {
  const all = queues.filter((queue) => queue.length > 0);
  const rest = all.map((queue) => [...queue]);
  const deltas: Delta[] = [];
  for (let turn = 0; rest.some((queue) => queue.length > 0); turn++) {
    const next = rest.findIndex((queue, at) => queue.length === all[at]!.length);
    const open = rest.filter((queue, at) => queue.length > 0 && (next < 0 || at <= next));
    const queue = open[(turns[turn % turns.length] ?? 0) % open.length]!;
    deltas.push(queue.shift()!);
  }
  return deltas;
}

function piecesOf(call: ScriptedCall, at: number, dialect: CallDialect): Delta[] {
  const pieces = bitten(call.arguments, call.bites);
  return pieces.map((piece, number) => {
    const isFirst = number === 0;
    const hasName = isFirst || dialect === "repeats";
    const entry = {
      ...(dialect === "by id" || dialect === "bare" ? {} : { index: dialect === "zero" ? 0 : at }),
      ...idKey(at, number, dialect),
      ...(isFirst ? { type: "function" } : {}),
      function: { ...(hasName ? { name: call.name } : {}), arguments: piece },
    };
    return { delta: { tool_calls: [entry] }, logprobs: [] };
  });
}

function idKey(at: number, number: number, dialect: CallDialect): object {
  switch (dialect) {
    case "bare":
      return {};
    case "openai":
    case "zero":
      return number === 0 ? { id: idOf(at) } : {};
    case "by id":
    case "repeats":
      return { id: idOf(at) };
    case "new ids":
      return { id: number === 0 ? idOf(at) : `${idOf(at)}-${number}` };
  }
}

function idOf(at: number): string {
  return `call_${at}`;
}

function bitten(whole: string, bites: number[]): string[] {
  const pieces: string[] = [];
  let from = 0;
  for (let turn = 0; from < whole.length; turn++) {
    const size = bites[turn % bites.length] ?? 1;
    pieces.push(whole.slice(from, from + size));
    from += size;
  }
  return pieces.length === 0 ? [""] : pieces;
}

function logProbs({ kind, hasLogProbs }: Speech, piece: string): object[] {
  if (kind !== "content" || !hasLogProbs || piece === "") return [];
  return [{ token: piece, logprob: -1, bytes: null, top_logprobs: [] }];
}

/** A response that is requested on the page, as far as it has arrived. */
export interface Answer {
  readonly kind: "running" | "done" | "stopped" | "failed";
  /** the request's `model` field: a participant, a model, or `*` */
  readonly selector: string;
  /** of the hub; undefined until its response begins */
  readonly requestId: string | undefined;
  /** who responds; undefined until its response begins */
  readonly from: { readonly participantId: string; readonly model: string } | undefined;
  readonly reasoning: string;
  /** Markdown */
  readonly text: string;
  /** what failed, and the next step */
  readonly problem: string | undefined;
}

/** One prompt and its answers side by side, in the order of {@link ChatState.selectors}. */
export interface Round {
  /** unique in its chat */
  readonly id: number;
  readonly prompt: string;
  readonly answers: readonly Answer[];
}

/** A chat with one model, or with several that get the same prompts. Immutable. */
export interface ChatState {
  /** whom the next prompt goes to, at least one */
  readonly selectors: readonly string[];
  readonly rounds: readonly Round[];
}

/** A message as chat completions take it. */
export interface Message {
  role: "user" | "assistant";
  content: string;
}

/** Side by side; more would be a burden to a room, and too narrow to read. */
export const mostSelectors = 3;
/** Of an answer; more is read, but not kept. */
const mostCharacters = 100_000;

export function emptyChat(): ChatState {
  return { selectors: ["*"], rounds: [] };
}

export function isRunning({ rounds }: ChatState): boolean {
  return rounds.at(-1)?.answers.some(({ kind }) => kind === "running") === true;
}

export function withSelector(chat: ChatState, index: number, selector: string): ChatState {
  return { ...chat, selectors: chat.selectors.with(index, selector) };
}

export function withMoreSelectors(chat: ChatState, selector: string): ChatState {
  if (chat.selectors.length >= mostSelectors) return chat;
  return { ...chat, selectors: [...chat.selectors, selector] };
}

/** Without one that is compared with the first; its answers leave with it. */
export function withoutSelector(chat: ChatState, index: number): ChatState {
  if (index === 0) return chat;
  return {
    selectors: chat.selectors.toSpliced(index, 1),
    rounds: chat.rounds.map((round) => ({ ...round, answers: round.answers.toSpliced(index, 1) })),
  };
}

/** A new round, in which every answer has yet to begin. */
export function withPrompt(chat: ChatState, prompt: string): ChatState {
  const id = (chat.rounds.at(-1)?.id ?? 0) + 1;
  const answers = chat.selectors.map(blankAnswer);
  return { ...chat, rounds: [...chat.rounds, { id, prompt, answers }] };
}

/** One answer of the last round, to be requested again from whom is chosen now. */
export function withRetry(chat: ChatState, index: number): ChatState {
  const last = chat.rounds.at(-1);
  const selector = chat.selectors[index];
  if (last === undefined || selector === undefined) return chat;
  return withAnswer(chat, last.id, index, () => blankAnswer(selector));
}

/** The answers of the last round as they are now; what still arrives of them is dropped. */
export function withStop(chat: ChatState): ChatState {
  const rounds = chat.rounds.map((round) => ({
    ...round,
    answers: round.answers.map((answer): Answer =>
      answer.kind === "running" ? { ...answer, kind: "stopped" } : answer,
    ),
  }));
  return { ...chat, rounds };
}

/** The same chat when the answer is no longer there. */
export function withAnswer(
  chat: ChatState,
  roundId: number,
  index: number,
  change: (answer: Answer) => Answer,
): ChatState {
  const rounds = chat.rounds.map((round) => {
    const answer = round.answers[index];
    if (round.id !== roundId || answer === undefined) return round;
    const { text, reasoning, ...changed } = change(answer);
    const bounded = { text: cut(text), reasoning: cut(reasoning) };
    return { ...round, answers: round.answers.with(index, { ...changed, ...bounded }) };
  });
  return { ...chat, rounds };
}

/**
 * The conversation up to a round's prompt, as one of the models knows it: with its own answers, or where it had none with
 * the first model's. A prompt without any answer is left out, since many chat templates require that turns alternate.
 */
export function messagesFor(chat: ChatState, roundId: number, index: number): Message[] {
  const messages: Message[] = [];
  for (const { id, prompt, answers } of chat.rounds) {
    const user: Message = { role: "user", content: prompt };
    if (id === roundId) return [...messages, user];
    const { text = "" } = answers[index] ?? answers[0] ?? {};
    const content = withoutThoughts(text).text;
    if (content !== "") messages.push(user, { role: "assistant", content });
  }
  return messages;
}

/** Splits an answer of a model whose server leaves its reasoning in the text, between `<think>` and `</think>`. */
export function withoutThoughts(text: string): { reasoning: string; text: string } {
  const start = /^\s*<think>/.exec(text);
  if (start === null) return { reasoning: "", text };
  const end = text.indexOf("</think>");
  if (end === -1) return { reasoning: text.slice(start[0].length), text: "" };
  return {
    reasoning: text.slice(start[0].length, end),
    text: text.slice(end + "</think>".length).trimStart(),
  };
}

function blankAnswer(selector: string): Answer {
  return {
    ...{ kind: "running", selector, requestId: undefined, from: undefined },
    ...{ reasoning: "", text: "", problem: undefined },
  };
}

function cut(text: string): string {
  return text.length > mostCharacters ? text.slice(0, mostCharacters) : text;
}

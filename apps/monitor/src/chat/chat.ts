import {
  type Answer,
  type ChatState,
  emptyChat,
  isRunning,
  type Message,
  messagesFor,
  withAnswer,
  withMoreSelectors,
  withoutSelector,
  withPrompt,
  withRetry,
  withSelector,
  withStop,
} from "./chat-state.ts";

/** Where a response goes as it arrives. */
export interface AnswerListener {
  onHead: (head: Pick<Answer, "requestId" | "from">) => void;
  onText: (text: string) => void;
  onReasoning: (text: string) => void;
}

/**
 * Sends one request and resolves at the end of its response.
 *
 * @throws Error with a message for people
 */
export type SendMessages = (
  request: { selector: string; messages: Message[]; signal: AbortSignal },
  listener: AnswerListener,
) => Promise<void>;

/** Where a chat is kept that its user wants to be kept. */
export interface ChatStore {
  load: () => ChatState | undefined;
  /** undefined: forgets it */
  save: (chat: ChatState | undefined) => void;
}

export type Chat = ReturnType<typeof createChat>;

/** A chat of the page. Nothing of it is stored unless it is kept. */
export function createChat(send: SendMessages, store: ChatStore, onChange: () => void) {
  const loaded = store.load();
  let isKept = loaded !== undefined;
  let state = loaded ?? emptyChat();
  let running = new AbortController();

  const change = (next: ChatState) => {
    state = next;
    // Each token would be too often.
    if (isKept && !isRunning(state)) store.save(state);
    onChange();
  };
  const request = (roundId: number, index: number) => {
    const { signal } = running;
    const selector = state.selectors[index] ?? "*";
    const messages = messagesFor(state, roundId, index);
    void readAnswer(send, { selector, messages, signal }, (part) => {
      if (signal.aborted) return;
      change(withAnswer(state, roundId, index, (answer) => ({ ...answer, ...part(answer) })));
    });
  };
  const stop = () => {
    running.abort();
    running = new AbortController();
    if (isRunning(state)) change(withStop(state));
  };
  return {
    state: () => state,
    isKept: () => isKept,
    stop,
    /** Sends a prompt to all that are chosen; nothing while answers arrive. */
    send(prompt: string): void {
      if (prompt.trim() === "" || isRunning(state)) return;
      change(withPrompt(state, prompt));
      const { id = 0, answers = [] } = state.rounds.at(-1) ?? {};
      answers.forEach((_, index) => request(id, index));
    },
    // Without `this`: the panel passes it on.
    retry: (index: number): void => {
      change(withRetry(state, index));
      request(state.rounds.at(-1)?.id ?? 0, index);
    },
    choose: (index: number, selector: string) => change(withSelector(state, index, selector)),
    compare: (selector: string) => change(withMoreSelectors(state, selector)),
    drop(index: number): void {
      stop();
      change(withoutSelector(state, index));
    },
    clear(): void {
      stop();
      change({ ...state, rounds: [] });
    },
    keep(next: boolean): void {
      isKept = next;
      store.save(isKept ? state : undefined);
      onChange();
    },
  };
}

/** @param change - called with each part of the answer as it arrives, and with how it ended */
async function readAnswer(
  send: SendMessages,
  request: Parameters<SendMessages>[0],
  change: (part: (answer: Answer) => Partial<Answer>) => void,
): Promise<void> {
  try {
    await send(request, {
      onHead: (head) => change(() => head),
      onText: (more) => change(({ text }) => ({ text: text + more })),
      onReasoning: (more) => change(({ reasoning }) => ({ reasoning: reasoning + more })),
    });
    change(() => ({ kind: "done" }));
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    change(() => ({ kind: "failed", problem }));
  }
}

import type { ChatStore } from "./chat.ts";
import type { Answer, ChatState, Round } from "./chat-state.ts";

/** The storage of this browser, for the chat of one room. @param storageOf - throws where a page may not use it */
export function keptChat(storageOf: () => Storage, key: string): ChatStore {
  return {
    load() {
      try {
        return chatOf(JSON.parse(storageOf().getItem(key) ?? "null") as StoredChat | null);
      } catch {
        // Storage is refused here, or what is in it was not written by this page.
        return undefined;
      }
    },
    save(chat) {
      try {
        if (chat === undefined) storageOf().removeItem(key);
        else storageOf().setItem(key, JSON.stringify(chat));
      } catch {
        // Storage is refused or full: the chat lasts as long as the page.
      }
    },
  };
}

type Unchecked<Checked, Names extends keyof Checked> = Omit<Checked, Names> &
  Record<Names, unknown>;

interface StoredChat {
  selectors: unknown[];
  rounds: (Unchecked<Omit<Round, "answers">, "id" | "prompt"> & {
    answers: Unchecked<Answer, "text" | "reasoning">[];
  })[];
}

/** @throws TypeError for what is no chat */
function chatOf(stored: StoredChat | null): ChatState | undefined {
  if (stored === null) return undefined;
  const rounds = stored.rounds.map((round): Round => ({
    id: Number(round.id),
    prompt: String(round.prompt),
    answers: round.answers.map((answer): Answer => ({
      ...answer,
      // The page was closed while it arrived.
      kind: answer.kind === "running" ? "stopped" : answer.kind,
      text: String(answer.text),
      reasoning: String(answer.reasoning),
    })),
  }));
  const selectors = stored.selectors.map(String);
  return selectors.length === 0 ? undefined : { selectors, rounds };
}

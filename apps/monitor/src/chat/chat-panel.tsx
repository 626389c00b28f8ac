import type { RoomState } from "@roomhub/room-state";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { answerFigures, AnswerView } from "./answer-view.tsx";
import type { Chat } from "./chat.ts";
import { chatChoices, type ChatChoices, nextChoice } from "./chat-choices.ts";
import { isRunning, mostSelectors, type Round } from "./chat-state.ts";

export interface ChatPanelProps {
  state: RoomState;
  chat: Chat;
}

/** A chat with a model of the room, or with several side by side. */
export function ChatPanel({ state, chat }: ChatPanelProps): VNode {
  const { selectors, rounds } = chat.state();
  const choices = chatChoices(state.participants.values());
  useFollowedEnd(rounds);
  return (
    <section class="panel try" aria-labelledby="try-title">
      <header class="panel-head">
        <h2 id="try-title">Try it</h2>
        <div class="controls">
          <label class="keep">
            <input
              type="checkbox"
              checked={chat.isKept()}
              onChange={(event) => chat.keep(event.currentTarget.checked)}
            />{" "}
            Keep in this browser
          </label>
          <button type="button" disabled={rounds.length === 0} onClick={() => chat.clear()}>
            New chat
          </button>
        </div>
      </header>
      {rounds.length === 0 ? <Beginning choices={choices} /> : null}
      {rounds.map((round, index) => (
        <RoundView
          key={round.id}
          {...{ round, state }}
          onRetry={index === rounds.length - 1 ? chat.retry : undefined}
        />
      ))}
      <div class="composer">
        <div class="controls">
          {selectors.map((selector, index) => (
            <ModelChoice key={index} {...{ chat, choices, selector, index }} />
          ))}
          {selectors.length < mostSelectors ? (
            <button
              type="button"
              disabled={isRunning(chat.state())}
              onClick={() => chat.compare(nextChoice(choices, selectors))}
            >
              Compare
            </button>
          ) : null}
        </div>
        <PromptField chat={chat} />
      </div>
    </section>
  );
}

function Beginning({ choices }: { choices: ChatChoices }): VNode {
  if (choices.participants.length > 0) {
    return (
      <p class="empty">
        Ask a model of this room. The chat is forgotten with this page, unless you keep it.
      </p>
    );
  }
  return (
    <p class="empty">
      No model of this room can chat now. <a href="#invite">Invite</a> has a line to share one.
    </p>
  );
}

interface RoundViewProps {
  round: Round;
  state: RoomState;
  onRetry: ((index: number) => void) | undefined;
}

function RoundView({ round, state, onRetry }: RoundViewProps): VNode {
  return (
    <div class="round">
      <p class="prompt">
        <span class="sr-only">You: </span>
        {round.prompt}
      </p>
      <div class="answers">
        {round.answers.map((answer, index) => (
          <AnswerView
            key={index}
            {...{ answer, index, onRetry }}
            figures={answerFigures(answer, state)}
          />
        ))}
      </div>
    </div>
  );
}

interface ModelChoiceProps {
  chat: Chat;
  choices: ChatChoices;
  selector: string;
  index: number;
}

function ModelChoice({ chat, choices, selector, index }: ModelChoiceProps): VNode {
  const { models, participants } = choices;
  const isGone =
    selector !== "*" && ![...models, ...participants].some((each) => each.selector === selector);
  return (
    <span class="choice">
      <select
        aria-label={index === 0 ? "Model" : `Model ${index + 1}`}
        value={selector}
        onChange={(event) => chat.choose(index, event.currentTarget.value)}
      >
        <option value="*">any model</option>
        {Object.entries({ Models: models, Participants: participants }).map(([label, group]) => (
          <optgroup key={label} label={label}>
            {group.map((each) => (
              <option key={each.selector} value={each.selector}>
                {each.text}
              </option>
            ))}
          </optgroup>
        ))}
        {isGone ? <option value={selector}>{selector}, not available</option> : null}
      </select>
      {index === 0 ? null : (
        <button
          type="button"
          aria-label={`Without model ${index + 1}`}
          onClick={() => chat.drop(index)}
        >
          ×
        </button>
      )}
    </span>
  );
}

/** Enter sends, Shift+Enter begins a line, Escape stops. On a touch screen Enter begins a line. */
function PromptField({ chat }: { chat: Chat }): VNode {
  const [prompt, setPrompt] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const isBusy = isRunning(chat.state());
  const send = () => {
    if (isBusy || prompt.trim() === "") return;
    chat.send(prompt.trim());
    setPrompt("");
    field.current?.focus();
  };
  return (
    <form
      class="prompt-field"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        ref={field}
        rows={Math.min(8, prompt.split("\n").length + 1)}
        aria-label="Prompt"
        placeholder="Ask anything"
        value={prompt}
        onInput={(event) => setPrompt(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") chat.stop();
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          if (matchMedia("(pointer: coarse)").matches) return;
          event.preventDefault();
          send();
        }}
      />
      {isBusy ? (
        <button type="button" onClick={() => chat.stop()}>
          Stop
        </button>
      ) : (
        <button type="submit" class="send" disabled={prompt.trim() === ""}>
          Send
        </button>
      )}
    </form>
  );
}

const nearPx = 80;

/** Keeps the end of the page in view while it grows, unless the reader scrolled away from it. */
function useFollowedEnd(content: unknown): void {
  const isAtEnd = useRef(true);
  useEffect(() => {
    const look = () => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      isAtEnd.current = scrollTop + clientHeight >= scrollHeight - nearPx;
    };
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, []);
  useLayoutEffect(() => {
    if (isAtEnd.current) scrollTo(0, document.documentElement.scrollHeight);
  }, [content]);
}

import type { Invite } from "@roomhub/client";
import { isWatched, type RoomState } from "@roomhub/room-state";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { BenchPanel, type ChosenBench } from "./bench/bench-panel.tsx";
import { ChatPanel } from "./chat/chat-panel.tsx";
import type { Chat } from "./chat/chat.ts";
import { FiguresPanel } from "./figures/figures-panel.tsx";
import { Head, LinkProblem } from "./head/head.tsx";
import { useShortcuts, useView, type ViewName } from "./head/views.ts";
import { InvitePanel } from "./invite/invite-panel.tsx";
import { RoomAddress } from "./invite/room-address.tsx";
import type { FeedView } from "./live/room-feed.ts";
import { LogPanel } from "./log/log-panel.tsx";
import { ParticipantsPanel } from "./participants/participants-panel.tsx";
import { RequestsPanel } from "./requests/requests-panel.tsx";

export interface AppProps {
  address: Invite;
  view: FeedView;
  nowMs: number;
  chat: Chat;
  onRetry: () => void;
  /** with the key of a closed room */
  onKey: (key: string) => void;
}

/** The page of one room. */
export function App({ address, view, nowMs, chat, onRetry, onKey }: AppProps): VNode {
  const { state, problem } = view;
  const name = useView();
  const [isProjector, setProjector] = useState(false);
  const [bench, setBench] = useState<ChosenBench>();
  const shown = isProjector ? "room" : name;
  useShortcuts({
    toggleProjector: () => setProjector((is) => !is),
    leaveProjector: () => setProjector(false),
  });
  useLayoutEffect(() => {
    document.documentElement.classList.toggle("is-projector", isProjector);
  }, [isProjector]);
  useEffect(() => {
    document.title = `${state.room?.name ?? address.room} · roomhub`;
  }, [state.room?.name, address.room]);
  const isLive = isWatched(state);
  // Without the hub, what is shown is of the moment at which it was lost: stopwatches stand still.
  const shownMs = state.watched.at(-1)?.toMs;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the room
      </a>
      <Head
        {...{ address, state, isLive, name, isProjector }}
        nowMs={shownMs ?? nowMs}
        onProjector={() => setProjector((is) => !is)}
      />
      {problem === undefined ? null : <LinkProblem {...{ problem, nowMs, shownMs, onRetry }} />}
      <main
        id="main"
        class={`view-${shown}${shownMs === undefined ? "" : " is-stale"}`}
        tabIndex={-1}
      >
        {problem?.needsKey === true ? (
          <KeyForm room={address.room} onKey={onKey} />
        ) : state.isSynced ? (
          <View
            {...{ address, state, chat, isProjector, bench }}
            nowMs={shownMs ?? nowMs}
            name={shown}
            onBench={setBench}
          />
        ) : problem === undefined ? (
          <p class="empty">Connecting to {address.hubUrl}</p>
        ) : null}
      </main>
    </>
  );
}

interface ViewProps extends Omit<AppProps, "view" | "onRetry" | "onKey"> {
  name: ViewName;
  state: RoomState;
  isProjector: boolean;
  bench: ChosenBench | undefined;
  onBench: (chosen: ChosenBench) => void;
}

function View(props: ViewProps): VNode {
  const { name, address, state, nowMs, chat, isProjector, bench, onBench } = props;
  switch (name) {
    case "invite":
      return <InvitePanel {...address} isProtected={state.room?.passwordProtected === true} />;
    case "log":
      return <LogPanel state={state} />;
    case "figures":
      return <FiguresPanel state={state} nowMs={nowMs} />;
    case "bench":
      return (
        <BenchPanel {...{ state, nowMs }} room={address.room} chosen={bench} onChosen={onBench} />
      );
    case "try":
      return <ChatPanel state={state} chat={chat} />;
    case "room":
      return (
        <>
          {isProjector ? <RoomAddress {...address} /> : null}
          <RequestsPanel {...{ state, nowMs, address, isProjector }} />
          <ParticipantsPanel state={state} nowMs={nowMs} />
        </>
      );
  }
}

/** Asks for the key of a closed room. */
function KeyForm({ room, onKey }: { room: string; onKey: (key: string) => void }): VNode {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const key = new FormData(event.currentTarget as HTMLFormElement).get("key");
    if (typeof key === "string") onKey(key.trim());
  };
  return (
    <form class="empty" onSubmit={submit}>
      <label>
        Key of room {room}{" "}
        <input
          name="key"
          type="password"
          required
          autocomplete="off"
          pattern="\s*rhk_[\w\-]{43}\s*"
        />
      </label>{" "}
      <button type="submit">Enter</button>
    </form>
  );
}

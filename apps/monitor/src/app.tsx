import type { Invite } from "@roomhub/client";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Head } from "./head/head.tsx";
import { useShortcuts } from "./head/shortcuts.ts";
import { useView } from "./head/view-name.ts";
import { useNarrow } from "./head/narrow.ts";
import type { FeedView } from "./live/room-feed.ts";
import { LogPanel } from "./log/log-panel.tsx";
import { RequestsPanel } from "./now/requests-panel.tsx";
import { ParticipantsPanel } from "./who/participants-panel.tsx";

export interface AppProps {
  address: Invite;
  view: FeedView;
  nowMs: number;
  /** epoch ms at which the page began to watch */
  sinceMs: number;
}

/** The page of one room. */
export function App({ address, view, nowMs, sinceMs }: AppProps): VNode {
  const { state } = view;
  const name = useView();
  const isNarrow = useNarrow();
  const [isProjector, setProjector] = useState(false);
  useShortcuts({
    toggleProjector: () => setProjector((is) => !is),
    leaveProjector: () => setProjector(false),
  });
  useEffect(() => {
    document.documentElement.classList.toggle("is-projector", isProjector);
  }, [isProjector]);
  useEffect(() => {
    document.title = `${state.room?.name ?? address.room} · roomhub`;
  }, [state.room?.name, address.room]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the room
      </a>
      <Head
        {...{ address, view, nowMs, name, isProjector }}
        onProjector={() => setProjector((is) => !is)}
      />
      <main id="main" class={`view-${isProjector ? "room" : name}`} tabIndex={-1}>
        {name === "log" && !isProjector ? (
          <LogPanel state={state} />
        ) : (
          <>
            <RequestsPanel {...{ state, nowMs, sinceMs, isNarrow }} />
            <ParticipantsPanel state={state} nowMs={nowMs} />
          </>
        )}
      </main>
    </>
  );
}

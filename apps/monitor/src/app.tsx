import type { Invite } from "@roomhub/client";
import type { RoomState } from "@roomhub/room-state";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Head } from "./head/head.tsx";
import { useShortcuts } from "./head/shortcuts.ts";
import { useView, type ViewName } from "./head/view-name.ts";
import { FiguresPanel } from "./how/figures-panel.tsx";
import { InvitePanel } from "./invite/invite-panel.tsx";
import type { Arena } from "./try/arena.ts";
import { TryPanel } from "./try/try-panel.tsx";
import { type PageSize, usePageSize } from "./head/page-size.ts";
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
  arena: Arena;
}

/** The page of one room. */
export function App({ address, view, nowMs, sinceMs, arena }: AppProps): VNode {
  const { state } = view;
  const name = useView();
  const [isProjector, setProjector] = useState(false);
  const size = usePageSize(isProjector);
  const shown = isProjector ? "room" : name;
  useShortcuts({
    toggleProjector: () => setProjector((is) => !is),
    leaveProjector: () => setProjector(false),
  });
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
      <main id="main" class={`view-${shown}`} tabIndex={-1}>
        <View {...{ address, state, nowMs, sinceMs, arena, size }} name={shown} />
      </main>
    </>
  );
}

interface ViewProps extends Omit<AppProps, "view"> {
  name: ViewName;
  state: RoomState;
  size: PageSize;
}

function View({ name, address, state, nowMs, sinceMs, arena, size }: ViewProps): VNode {
  switch (name) {
    case "log":
      return <LogPanel state={state} remPx={size.remPx} />;
    case "figures":
      return <FiguresPanel state={state} nowMs={nowMs} />;
    case "try":
      return <TryPanel state={state} arena={arena} />;
    case "invite":
      return <InvitePanel hubUrl={address.hubUrl} room={address.room} />;
    case "room":
      return (
        <>
          <RequestsPanel {...{ state, nowMs, sinceMs, size }} />
          <ParticipantsPanel state={state} nowMs={nowMs} />
        </>
      );
  }
}

import { type Invite, RoomhubClient } from "@roomhub/client";
import { type HealthResponse, isForOthers, pastedHub } from "@roomhub/protocol";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { CopyButton } from "../parts/copy-button.tsx";
import { pure } from "../parts/pure.ts";
import { inviteLines } from "./invite-lines.ts";
import { QrCode } from "./qr-code.tsx";

/** How others come into the room. */
export const InvitePanel = pure(({ hubUrl, room }: Invite): VNode => {
  const hub = pastedHub(hubUrl, useHealth(hubUrl) ?? {});
  const roomUrl = `${hub.hubUrl}/rooms/${room}`;
  const [pageUrl = ""] = location.href.split("#");
  return (
    <section class="panel invite" aria-labelledby="invite-title">
      <h2 id="invite-title">Invite</h2>
      {isForOthers(hub.hubUrl) ? null : (
        <p class="problem">
          {hub.hubUrl} is this machine only. For others, start the hub with <code>--lan</code>.
        </p>
      )}
      <div class="invite-body">
        <QrCode text={roomUrl} label={`QR code of ${roomUrl}`} />
        <div>
          <p class="room-code">{room}</p>
          {inviteLines(hub, room, pageUrl).map(({ title, text }) => (
            <div class="invite-line" key={title}>
              <h3>{title}</h3>
              <pre tabIndex={0} aria-label={title}>
                <code>{text}</code>
              </pre>
              <CopyButton label={`Copy: ${title.toLowerCase()}`} text={() => text} />
            </div>
          ))}
        </div>
      </div>
    </section>
  );
});

/** What the hub says of itself; undefined until it has. */
function useHealth(hubUrl: string): HealthResponse | undefined {
  const [health, setHealth] = useState<HealthResponse>();
  useEffect(() => {
    const stop = new AbortController();
    // Without it the lines are as the page knows the hub; its connection says elsewhere that it does not respond.
    new RoomhubClient({ hubUrl }).health({ signal: stop.signal }).then(setHealth, () => undefined);
    return () => stop.abort();
  }, [hubUrl]);
  return health;
}

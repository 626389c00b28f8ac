import type { Invite } from "@roomhub/client";
import { isForOthers } from "@roomhub/protocol";
import type { VNode } from "preact";
import { CopyButton } from "../parts/copy-button.tsx";
import { pure } from "../parts/pure.ts";
import { inviteLines } from "./invite-lines.ts";
import { QrCode, useHubForOthers } from "./room-address.tsx";

export interface InvitePanelProps extends Invite {
  /** A participant that joins has to know the room's join password. */
  isProtected: boolean;
}

/** How others come into the room. */
export const InvitePanel = pure(({ hubUrl, room, isProtected }: InvitePanelProps): VNode => {
  const hub = useHubForOthers(hubUrl);
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
          {isProtected ? (
            <p>
              Sharing a model asks for the room's join password. The password does not restrict use:
              whoever reaches the hub and knows this code can send requests and watch.
            </p>
          ) : null}
          {inviteLines(hub, room, pageUrl).map(({ title, text }) => (
            <div class="invite-line" key={title}>
              <h3>{title}</h3>
              <pre tabIndex={0} aria-label={title}>
                <code>{text}</code>
              </pre>
              <CopyButton label={`Copy: ${title}`} text={() => text} />
            </div>
          ))}
        </div>
      </div>
    </section>
  );
});

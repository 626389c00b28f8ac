import type { Invite } from "@roomhub/client";
import type { VNode } from "preact";
import { CopyButton } from "../parts/copy-button.tsx";
import { pure } from "../parts/pure.ts";
import { inviteLines, isForOthers } from "./invite-lines.ts";
import { QrCode } from "./qr-code.tsx";

/** How others come into the room. */
export const InvitePanel = pure(({ hubUrl, room }: Invite): VNode => {
  const invite = { hubUrl, room };
  const [pageUrl = ""] = location.href.split("#");
  return (
    <section class="panel invite" aria-labelledby="invite-title">
      <h2 id="invite-title">Invite</h2>
      {isForOthers(invite) ? null : (
        <p class="problem">
          {hubUrl} is this machine only. For others, start the hub with{" "}
          <code>roomhub up --lan</code> and open this page with the address that it prints.
        </p>
      )}
      <div class="invite-body">
        <QrCode text={`${hubUrl}/rooms/${room}`} label={`QR code of ${hubUrl}/rooms/${room}`} />
        <div>
          <p class="room-code">{room}</p>
          {inviteLines(invite, pageUrl).map(({ title, text }) => (
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

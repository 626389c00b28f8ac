import type { Invite } from "@roomhub/client";
import { isForOthers } from "@roomhub/protocol";
import type { VNode } from "preact";
import { CopyButton } from "../parts/copy-button.tsx";
import { pure } from "../parts/pure.ts";
import { useHubForOthers } from "./hub-for-others.ts";
import { QrCode } from "./qr-code.tsx";

/** Where the room is: for a phone's camera, and for programs. */
export const RoomAddress = pure((address: Invite): VNode => {
  const { hubUrl } = useHubForOthers(address.hubUrl);
  const roomUrl = `${hubUrl}/rooms/${address.room}`;
  const baseUrl = `${roomUrl}/v1`;
  return (
    <div class="room-address">
      <QrCode text={roomUrl} label={`QR code of ${roomUrl}`} />
      <div>
        <h3>Base URL for any OpenAI client</h3>
        <pre tabIndex={0} aria-label="Base URL">
          <code>{baseUrl}</code>
        </pre>
        <CopyButton label="Copy" text={() => baseUrl} />
        {isForOthers(hubUrl) ? null : (
          <p class="quiet">
            It works on this machine only. <a href="#invite">For others</a>
          </p>
        )}
      </div>
    </div>
  );
});

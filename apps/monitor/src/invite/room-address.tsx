import { type Invite, RoomhubClient } from "@roomhub/client";
import { type HealthResponse, isForOthers, type PastedHub, pastedHub } from "@roomhub/protocol";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { encode } from "uqr";
import { CopyButton } from "../parts/copy-button.tsx";
import { pure } from "../parts/pure.ts";

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

/** The hub as others reach it: what it says of itself, once it has. */
export function useHubForOthers(hubUrl: string): PastedHub {
  const [health, setHealth] = useState<HealthResponse>();
  useEffect(() => {
    const stop = new AbortController();
    // Without it the lines are as the page knows the hub; its connection says elsewhere that it does not respond.
    new RoomhubClient({ hubUrl }).health({ signal: stop.signal }).then(setHealth, () => undefined);
    return () => stop.abort();
  }, [hubUrl]);
  return pastedHub(hubUrl, health ?? {});
}

/** A QR code, black on white in every theme: many cameras read no other. */
export function QrCode({ text, label }: { text: string; label: string }): VNode {
  const { data, size } = encode(text, { border: 2 });
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} fill="#fff" />
      <path d={pathOf(data)} fill="#000" />
    </svg>
  );
}

/** One square per dark module. */
function pathOf(rows: readonly (readonly boolean[])[]): string {
  return rows
    .flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    .join("");
}

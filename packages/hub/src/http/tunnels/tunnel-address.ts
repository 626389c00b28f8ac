import { pinText, type TunnelAddress } from "@roomhub/protocol";

/** @param origin - of the hub that takes the tunnel, as its agent reaches it; perhaps with `#pin=…` */
export function tunnelAddress(
  origin: string,
  roomCode: string,
  participantId: string,
): TunnelAddress {
  const pin = pinText(origin);
  const base = origin.replace(/\/*(?:#.*)?$/, "").replace(/^http/, "ws");
  const path = `/v1/rooms/${roomCode}/participants/${encodeURIComponent(participantId)}/tunnel`;
  return { url: base + path, ...(pin === undefined ? {} : { pin }) };
}

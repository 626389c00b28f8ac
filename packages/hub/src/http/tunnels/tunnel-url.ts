/** @param origin - of the hub that takes the tunnel, as its agent reaches it */
export function tunnelUrl(origin: string, roomCode: string, participantId: string): string {
  const base = origin.replace(/\/+$/, "").replace(/^http/, "ws");
  return `${base}/v1/rooms/${roomCode}/participants/${encodeURIComponent(participantId)}/tunnel`;
}

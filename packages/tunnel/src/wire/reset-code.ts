/** Why a stream was aborted. The first byte of RESET. */
export const RESET_CODES = {
  /** The client disconnected, or the response is no longer needed. */
  cancelled: 1,
  providerUnreachable: 2,
  /** The provider closed its connection in the middle of a response. */
  providerDisconnected: 3,
  providerTimeout: 4,
  providerInvalidResponse: 5,
  /** The path is not on the agent's allow-list. */
  refused: 6,
  /** At capacity, or the agent is leaving; nothing reached the provider, so the requester may retry elsewhere. */
  overloaded: 7,
  internal: 8,
  responseTooLarge: 9,
  /** The tunnel closed before its agent showed that it reads, so the request may be sent again. Local only, never on the wire. */
  unread: 254,
  /** The tunnel closed during the stream. Local only, never on the wire. */
  tunnelLost: 255,
} as const;

export type ResetCodeName = keyof typeof RESET_CODES;
export type ResetCode = (typeof RESET_CODES)[ResetCodeName];

const NAMES = new Map<number, ResetCodeName>(
  Object.entries(RESET_CODES).map(([name, code]) => [code, name as ResetCodeName]),
);

const FIRST_LOCAL = RESET_CODES.unread;

/** The code for a byte from the wire. Unknown codes, 254 and 255 mean `internal`. */
export function resetCodeFromWire(byte: number): ResetCode {
  const name = NAMES.get(byte);
  return name === undefined || byte >= FIRST_LOCAL ? RESET_CODES.internal : RESET_CODES[name];
}

export function resetCodeName(code: ResetCode): ResetCodeName {
  return NAMES.get(code) ?? "internal";
}

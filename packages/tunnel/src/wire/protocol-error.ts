import { CLOSE_CODES, type CloseCode } from "./close-code.ts";
import { FRAME_RULES, type FrameType } from "./frame.ts";

/** The peer violated the wire protocol. Internal: the session closes the tunnel with `closeCode`. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  readonly closeCode: CloseCode;

  constructor(closeCode: CloseCode, message: string) {
    super(message);
    this.closeCode = closeCode;
  }
}

export function outOfPlace(type: FrameType, what: string): ProtocolError {
  return new ProtocolError(CLOSE_CODES.protocolError, `${FRAME_RULES[type].name} ${what}`);
}

import type { CloseCode } from "./close-code.ts";

/** The peer violated the wire protocol. Internal: the session closes the tunnel with `closeCode`. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  readonly closeCode: CloseCode;

  constructor(closeCode: CloseCode, message: string) {
    super(message);
    this.closeCode = closeCode;
  }
}

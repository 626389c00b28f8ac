/** Invalid options, or a refusal by the hub. `code` as in `StopReason`. */
export class ParticipantError extends Error {
  override readonly name = "ParticipantError";
  readonly code: string;
  /** The next step, if there is one. */
  readonly hint: string | undefined;

  constructor(code: string, message: string, hint?: string) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

/** The request has no counterpart in chat. A 400; the provider got no request. */
export class UntranslatableError extends Error {
  override readonly name = "UntranslatableError";
  /** the field that cannot be translated, as a path: `input[2].type` */
  readonly param: string;
  readonly code:
    | "unsupported_value"
    | "invalid_type"
    | "previous_response_not_found"
    | "thread_not_found";

  constructor(message: string, param: string, code: UntranslatableError["code"]) {
    super(message);
    this.param = param;
    this.code = code;
  }
}

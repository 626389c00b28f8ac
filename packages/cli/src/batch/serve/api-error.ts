import type { DoorRefusal } from "../../door/door-guard.ts";

/** Why a call of the Files or Batches API failed; its caller can act. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly refusal: DoorRefusal;

  constructor(refusal: DoorRefusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** A value that the caller has to change. @param param - its name */
export function invalidValue(param: string, message: string, hint: string): ApiError {
  return new ApiError({ status: 400, code: "invalid_value", message, hint, param });
}

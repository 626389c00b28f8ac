import { boundaryOf } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import { type FormField, FormScanner } from "./form-scan.ts";
import type { RequestBody } from "./request-body.ts";

/** The longest value the hub reads is a model name. */
const maxReadBytes = 4_096;

/** Reads `model` and `stream` of a form while it arrives; all other parts leave as they came. Contract §4, "Forms". */
export class FormBodyReader {
  readonly #scanner: FormScanner;
  readonly #maxHeldBytes: number;
  /** as announced; NaN when it is not */
  readonly #announcedBytes: number;
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #isBegun = false;

  /**
   * @param length - its content length
   * @param maxHeldBytes - where its part `model` has to end at the latest
   * @throws HubError `invalid_form`
   */
  constructor(contentType: string, length: string | undefined, maxHeldBytes: number) {
    this.#announcedBytes = Number(length);
    this.#maxHeldBytes = maxHeldBytes;
    const boundary = boundaryOf(contentType);
    if (boundary === undefined) throw invalidForm("has no valid boundary in its content type");
    this.#scanner = new FormScanner(boundary, ["model", "stream"], maxReadBytes);
  }

  /** Its part `model` has come, so that the request can begin. */
  get isAddressed(): boolean {
    return this.#models.length > 0;
  }

  get #models(): FormField[] {
    return this.#scanner.fields.filter(({ name }) => name === "model");
  }

  /** @throws HubError `invalid_form` or `model_part_late`, as soon as it is certain */
  push(chunk: Buffer): void {
    if (!this.#isBegun) this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (!this.#scanner.push(chunk)) throw invalidForm(this.#scanner.problem);
    const [model, ...others] = this.#models;
    if (others.length > 0) throw invalidForm("has more than one part model", "model");
    if ((model?.end ?? this.#scanner.position) > this.#maxHeldBytes)
      throw modelIsLate(this.#maxHeldBytes);
    // Its last byte must not leave before it is known to be whole.
    if (this.#length === this.#announcedBytes) this.#requireEnd();
  }

  /**
   * The rest is not kept here.
   *
   * @returns what has come so far
   * @throws HubError `invalid_type`, `field_too_large` or `missing_required_parameter`
   */
  begin(): { body: RequestBody; chunks: Buffer[]; bytes: number | undefined } {
    this.#isBegun = true;
    const announced = this.#announcedBytes;
    const bytes = Number.isNaN(announced) ? undefined : announced;
    const body = { ...this.#body(), hasOnlyReader: false, length: bytes ?? this.#length };
    return { body, chunks: this.#chunks, bytes };
  }

  /** @throws HubError as {@link push} and {@link begin} */
  end(): RequestBody {
    this.#requireEnd();
    return this.#body();
  }

  #requireEnd(): void {
    if (!this.#scanner.end()) throw invalidForm(this.#scanner.problem);
  }

  #body(): RequestBody {
    const [model] = this.#models;
    return {
      ...unread,
      chunks: this.#chunks,
      length: this.#length,
      model: readModel(model),
      isStream: this.#scanner.fields.find(({ name }) => name === "stream")?.value === "true",
      members:
        model === undefined ? [] : [{ ...model, key: "model", encodedBytes: 0, raw: model.value }],
    };
  }
}

/** A form has no prompt, and none of the fields that only text has. */
const unread = {
  isForm: true,
  hasOnlyReader: true,
  previousResponseId: undefined,
  isFlex: false,
  isStored: false,
  promptBytes: 0,
  textBytes: 0,
  prompt: undefined,
  outputTokens: 0,
  uses: 0,
  promptBorders: [],
  cacheKey: undefined,
  sessionInMetadata: undefined,
  user: undefined,
  bodyStart: 0,
} satisfies Partial<RequestBody>;

function readModel(field: FormField | undefined): string {
  if (field === undefined) {
    throw new HubError("missing_required_parameter", "The form has no part model.", {
      param: "model",
      hint: "Add it: -F model=…, a participant id, a model name, or * for any participant.",
    });
  }
  const { value, start, end } = field;
  if (value === undefined && end - start > maxReadBytes) {
    throw new HubError("field_too_large", `model is longer than ${maxReadBytes} bytes.`, {
      param: "model",
    });
  }
  if (value !== undefined && value !== "") return value;
  throw new HubError("invalid_type", "model must be a text that is not empty.", { param: "model" });
}

function modelIsLate(maxHeldBytes: number): HubError {
  const message = `The form's part model does not come within its first ${maxHeldBytes} bytes (limit ROOMHUB_MULTIPART_HOLD_BYTES).`;
  return new HubError("model_part_late", message, {
    param: "model",
    hint: "Send model before the file: curl -F model=… -F file=@…",
  });
}

function invalidForm(problem: string | undefined, param?: string): HubError {
  return new HubError("invalid_form", `The multipart body ${problem ?? "is not valid"}.`, {
    param,
    hint: "Let the HTTP client make the form: curl -F file=@… -F model=…",
  });
}

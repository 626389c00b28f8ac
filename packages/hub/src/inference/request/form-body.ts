import { HubError } from "../../errors.ts";
import { boundaryOf, type FormField, FormScanner } from "./form-scan.ts";
import type { RequestBody } from "./request-body.ts";

/** The longest value the hub reads is a model name. */
const maxReadBytes = 4_096;

/** Reads `model` and `stream` of a form while it arrives; all other parts leave as they came. Contract §4, "Forms". */
export class FormBodyReader {
  readonly #scanner: FormScanner;
  readonly #chunks: Buffer[] = [];
  #length = 0;

  /** @throws HubError `invalid_form` */
  constructor(contentType: string) {
    const boundary = boundaryOf(contentType);
    if (boundary === undefined) throw invalidForm("has no valid boundary in its content type");
    this.#scanner = new FormScanner(boundary, ["model", "stream"], maxReadBytes);
  }

  /** @throws HubError `invalid_form`, as soon as it is certain */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (!this.#scanner.push(chunk)) throw invalidForm(this.#scanner.problem);
  }

  /** @throws HubError `invalid_form`, `invalid_type`, `field_too_large` or `missing_required_parameter` */
  end(): RequestBody {
    if (!this.#scanner.end()) throw invalidForm(this.#scanner.problem);
    const { fields } = this.#scanner;
    const [model, ...others] = fields.filter(({ name }) => name === "model");
    if (others.length > 0) throw invalidForm("has more than one part model", "model");
    return {
      ...unread,
      chunks: this.#chunks,
      length: this.#length,
      model: readModel(model),
      isStream: fields.find(({ name }) => name === "stream")?.value === "true",
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

function invalidForm(problem: string | undefined, param?: string): HubError {
  return new HubError("invalid_form", `The multipart body ${problem ?? "is not valid"}.`, {
    param,
    hint: "Let the HTTP client make the form: curl -F file=@… -F model=…",
  });
}

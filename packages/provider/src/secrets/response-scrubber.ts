import { credentialsIn, minSecretLength, secretForms, openaiKey } from "./secret-forms.ts";

const star = 0x2a;
const noBytes = Buffer.alloc(0);
const latin1 = /^[\0-\xff]*$/;
/** The end of a text that may continue as an OpenAI key. Bounded, since a match is held back. */
const openaiKeyBeginning = /s(?:k(?:-[A-Za-z0-9_-]{0,512})?)?$/;
const maxKeyBeginning = 515;

/** Secrets as bytes of a response. */
interface SecretBytes {
  readonly forms: readonly Buffer[];
  /** by byte: 1 when a chunk that ends with it may end inside a secret */
  readonly innerBytes: Uint8Array;
  /** the shortest text that is a secret */
  readonly minLength: number;
  readonly longestBytes: number;
  /** in errors, anything that looks like an OpenAI key is overwritten too */
  readonly hasOpenaiKeys: boolean;
}

/** What no response of a participant may repeat; undefined for nothing. Made once for all responses. */
export interface ResponseSecrets {
  /** in responses with a status of 400 and more: every value that is sent */
  readonly inErrors: SecretBytes | undefined;
  /** in all others: the credentials. A model may generate the value of another header. */
  readonly inResponses: SecretBytes | undefined;
}

/** @param headers - that the participant adds to requests to its provider */
export function responseSecretsOf(headers: Readonly<Record<string, string>>): ResponseSecrets {
  const { inErrors, inResponses } = minSecretLength;
  return {
    inErrors: secretBytesOf(Object.values(headers), inErrors, true),
    inResponses: secretBytesOf(credentialsIn(headers), inResponses, false),
  };
}

function secretBytesOf(
  values: readonly string[],
  minLength: number,
  hasOpenaiKeys: boolean,
): SecretBytes | undefined {
  const forms = secretForms(values, minLength).flatMap(bytesOf);
  if (forms.length === 0) return undefined;
  const innerBytes = new Uint8Array(256);
  for (const form of forms) for (const byte of form.subarray(0, -1)) innerBytes[byte] = 1;
  const longestBytes = Math.max(...forms.map(({ length }) => length));
  return { forms, innerBytes, minLength, longestBytes, hasOpenaiKeys };
}

/** Headers are sent in Latin-1; a provider may repeat them decoded, or as the same bytes. */
function bytesOf(form: string): Buffer[] {
  const utf8 = Buffer.from(form, "utf8");
  if (utf8.length === form.length || !latin1.test(form)) return [utf8];
  return [utf8, Buffer.from(form, "latin1")];
}

/**
 * Overwrites secrets in one response while it passes, each byte with a `*`: lengths and all other bytes stay the same,
 * wherever the response is cut into chunks.
 *
 * The end of a chunk that may begin a secret is held back until the next chunk; it is shorter than the longest secret.
 */
export class ResponseScrubber {
  readonly #secrets: SecretBytes;
  /** unscrubbed: a secret may begin within another */
  #held = noBytes;
  /** the same, scrubbed */
  #heldScrubbed = noBytes;

  constructor(secrets: SecretBytes) {
    this.#secrets = secrets;
  }

  /**
   * @param chunk - not changed
   * @returns the bytes to pass on: usually the chunk itself, perhaps none
   */
  push(chunk: Buffer): Buffer {
    const isPlain = this.#held.length === 0;
    const bytes = isPlain ? chunk : Buffer.concat([this.#held, chunk]);
    const scrubbed = this.#scrub(
      bytes,
      isPlain ? chunk : Buffer.concat([this.#heldScrubbed, chunk]),
    );
    const decided = this.#decidedIn(bytes);
    if (decided === bytes.length) {
      this.#held = noBytes;
      this.#heldScrubbed = noBytes;
      return scrubbed;
    }
    // Copied: they are a few bytes of a socket's read.
    this.#held = Buffer.from(bytes.subarray(decided));
    this.#heldScrubbed = Buffer.from(scrubbed.subarray(decided));
    return scrubbed.subarray(0, decided);
  }

  /** The response is complete. @returns the bytes that were held back, since they did not become a secret */
  end(): Buffer {
    return this.#heldScrubbed;
  }

  /**
   * The response broke off, perhaps within a secret. @returns the bytes that were held back, overwritten if they are long
   * enough to be a secret
   */
  breakOff(): Buffer {
    const beginsAt = secretBeginningIn(this.#held, this.#secrets);
    const isSecret = this.#held.length - beginsAt >= this.#secrets.minLength;
    return isSecret ? this.#heldScrubbed.fill(star, beginsAt) : this.#heldScrubbed;
  }

  /** @param scrubbed - `bytes` themselves, or a copy to write into. @returns the same when there is nothing to write */
  #scrub(bytes: Buffer, scrubbed: Buffer): Buffer {
    let written = scrubbed;
    for (const form of this.#secrets.forms) {
      for (let at = bytes.indexOf(form); at >= 0; at = bytes.indexOf(form, at + 1)) {
        if (written === bytes) written = Buffer.from(bytes);
        written.fill(star, at, at + form.length);
      }
    }
    if (!this.#secrets.hasOpenaiKeys) return written;
    for (const { 0: key, index } of bytes.toString("latin1").matchAll(openaiKey)) {
      if (written === bytes) written = Buffer.from(bytes);
      written.fill(star, index, index + key.length);
    }
    return written;
  }

  /** @returns how many bytes cannot belong to a secret that continues in the next chunk */
  #decidedIn(bytes: Buffer): number {
    const decided = secretBeginningIn(bytes, this.#secrets);
    return this.#secrets.hasOpenaiKeys ? Math.min(decided, keyBeginningIn(bytes)) : decided;
  }
}

/** The headers of a response, scrubbed like its body. */
export function scrubHeaders(
  headers: Readonly<Record<string, string>>,
  secrets: SecretBytes,
): Record<string, string> {
  const scrubText = (text: string): string => {
    const scrubber = new ResponseScrubber(secrets);
    const begun = scrubber.push(Buffer.from(text, "latin1"));
    return begun.toString("latin1") + scrubber.end().toString("latin1");
  };
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [scrubText(name), scrubText(value)]),
  );
}

/** @returns where the longest end begins that a secret begins with; behind the last byte when there is none */
function secretBeginningIn(
  bytes: Buffer,
  { forms, innerBytes, longestBytes }: SecretBytes,
): number {
  const { length } = bytes;
  if (innerBytes[bytes[length - 1] ?? 0] === 0) return length;
  for (let at = Math.max(0, length - longestBytes + 1); at < length; at++) {
    for (const form of forms) if (beginsLike(bytes, at, form)) return at;
  }
  return length;
}

function beginsLike(bytes: Buffer, at: number, form: Buffer): boolean {
  const count = bytes.length - at;
  if (form[0] !== bytes[at] || count >= form.length) return false;
  return bytes.compare(form, 0, count, at) === 0;
}

function keyBeginningIn(bytes: Buffer): number {
  const from = Math.max(0, bytes.length - maxKeyBeginning);
  const index = bytes.toString("latin1", from).search(openaiKeyBeginning);
  return index < 0 ? bytes.length : from + index;
}

/** Takes a participant's secrets out of one response. No length changes. */
export interface ResponseFilter {
  headers(headers: Readonly<Record<string, string>>): Record<string, string>;
  /** @returns what may go on, perhaps nothing yet */
  push(chunk: Buffer): Buffer;
  /** The response is complete. @returns what was held back */
  end(): Buffer;
  /** It broke off. @returns the same, without what may have become a secret */
  breakOff(): Buffer;
}

/** Undefined for a response that cannot have any. @param status - errors are filtered for more than others */
export type ResponseFilterFor = (status: number) => ResponseFilter | undefined;

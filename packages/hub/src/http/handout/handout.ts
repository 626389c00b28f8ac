/**
 * What a hub hands out beside its API: the program itself, the SDK and the page that watches a room. The program around the
 * hub makes them; the hub only serves the bytes. Contract §7.
 */
export interface Handout {
  /**
   * The program as an npm package, a gzipped tar. Requested at most once, and again after a failure.
   *
   * @throws Error when it cannot be made; its message is for people
   */
  program: () => Promise<Uint8Array>;
  /** The SDK, `@roomhub/client`, in the same form. */
  sdk: () => Promise<Uint8Array>;
  /** The page's files by path, such as `/index.html`. @throws Error when it cannot be made */
  monitor: () => Promise<ReadonlyMap<string, HandoutFile>>;
}

export interface HandoutFile {
  /** for `content-type` */
  type: string;
  body: Uint8Array;
}

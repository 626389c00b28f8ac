import type { Limits } from "@roomhub/protocol";
import type { ClientResponse } from "../client-response.ts";
import { HubError } from "../../errors.ts";
import type { HeaderMap } from "./response-headers.ts";

const comment = ": keepalive\n\n";
const loadingCommitMs = 5_000;

/** Writes to one client, and notes since when the client has read nothing and was sent nothing. */
export class ClientWriter {
  readonly client: ClientResponse;
  readonly #limits: Limits;
  readonly #nowMs: () => number;
  readonly #startedMs: number;
  #lastWriteMs: number;
  #lastProcessingMs: number;
  #isWritable = true;
  /** since when the client has taken nothing */
  #blockedMs: number | undefined;
  #isFinishing = false;

  constructor(
    client: ClientResponse,
    { limits, nowMs }: { limits: Limits; nowMs: () => number },
    startedMs: number,
  ) {
    this.client = client;
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#startedMs = startedMs;
    this.#lastWriteMs = startedMs;
    this.#lastProcessingMs = startedMs;
  }

  /** The client takes more now. */
  get isWritable(): boolean {
    return this.#isWritable;
  }

  get isBlocked(): boolean {
    return this.#blockedMs !== undefined;
  }

  /** The last bytes are written, and the client's socket has not taken them yet. */
  get isFinishing(): boolean {
    return this.#isFinishing;
  }

  /** @param isLast - see {@link ClientResponse.write} */
  write(bytes: Buffer | string, isLast = false): void {
    this.#lastWriteMs = this.#nowMs();
    this.#isWritable = this.client.write(bytes, isLast);
    if (!this.#isWritable) this.#blockedMs ??= this.#lastWriteMs;
  }

  /** From now on the client must read the rest within the stall limit. */
  finish(): void {
    this.#isFinishing = true;
    this.#blockedMs ??= this.#nowMs();
  }

  drained(nowMs: number): void {
    this.#isWritable = true;
    // The last bytes must be read too.
    this.#blockedMs = this.#isFinishing ? nowMs : undefined;
  }

  /** @throws HubError `client_stalled` */
  checkStall(nowMs: number): void {
    const { clientStallMs } = this.#limits;
    if (this.#blockedMs === undefined || nowMs - this.#blockedMs <= clientStallMs) return;
    throw new HubError("client_stalled", `Client stopped reading for ${clientStallMs / 1000} s.`);
  }

  /**
   * A stream has waited so long for its response that proxies would give up, or people. Contract §4, "Waiting".
   *
   * @param isLoading - it waits for a model to load
   */
  isCommitDue(nowMs: number, isLoading: boolean): boolean {
    const { earlyCommitMs } = this.#limits;
    const dueMs = isLoading ? Math.min(loadingCommitMs, earlyCommitMs) : earlyCommitMs;
    return !this.client.isHeadWritten && earlyCommitMs > 0 && nowMs - this.#startedMs > dueMs;
  }

  /** @param said - what it waits for; default: no more than a comment */
  commit(headers: HeaderMap, said: string | undefined): void {
    this.client.writeHead(200, headers);
    this.write(said === undefined ? comment : `: ${said.replaceAll(/[\r\n]/g, " ")}\n\n`);
  }

  /**
   * Keeps proxies and SDKs from giving up during long prompts. Contract §4, "Waiting".
   *
   * @param mayWrite - the stream is between two events, or has not begun
   * @param keepalive - an event that this stream's clients wait for; default: a comment
   */
  sendKeepalive(nowMs: number, mayWrite: boolean, keepalive: string = comment): void {
    const { informationalMs, keepaliveCommentMs } = this.#limits;
    if (!this.client.isHeadWritten) {
      if (informationalMs === 0 || nowMs - this.#lastProcessingMs <= informationalMs) return;
      this.#lastProcessingMs = nowMs;
      this.client.writeProcessing();
      return;
    }
    const isQuiet = nowMs - this.#lastWriteMs >= keepaliveCommentMs;
    if (isQuiet && mayWrite && this.#isWritable) this.write(keepalive);
  }
}

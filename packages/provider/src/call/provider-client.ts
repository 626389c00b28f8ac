import { Roster, systemWorld, TurnEnd, type World } from "@roomhub/protocol";
import { isIP } from "node:net";
import { type AddressProblem, createLookup } from "./lookup.ts";
import { RequestHeads } from "./message-headers.ts";
import type { ProviderCall, ProviderRequest, ProviderSink } from "./provider-call.ts";
import { Exchange, type ExchangeDeps } from "./exchange.ts";
import { SocketPool } from "./socket-pool.ts";
import { ResponseHeads } from "./response-head.ts";
import { parseTarget, type ProviderTarget } from "./target.ts";

export interface ProviderClientOptions {
  connectTimeoutMs: number;
  /**
   * Why an address may not be dialled, or undefined. Called with every literal and every resolved address; the checked
   * address is the dialled one. The result for an address is always the same.
   */
  addressProblem?: AddressProblem | undefined;
  /** default: the system's */
  world?: World | undefined;
}

/** Where a base URL leads, and why not when it is a literal address that may not be dialled. */
interface KnownTarget {
  deps: ExchangeDeps;
  /** Its host is an address: no lookup will check it. */
  isLiteral: boolean;
}

const maxCachedTargets = 256;

/** Calls OpenAI-compatible endpoints over HTTP/1.1. Owns its sockets: close it. */
export class ProviderClient {
  readonly #options: ProviderClientOptions;
  readonly #world: World;
  readonly #sockets: SocketPool;
  readonly #turnEnd: TurnEnd;
  readonly #targets = new Map<string, KnownTarget>();
  readonly #running = new Roster<Exchange>();
  #isClosed = false;

  constructor(options: ProviderClientOptions) {
    this.#options = options;
    this.#world = options.world ?? systemWorld;
    this.#turnEnd = new TurnEnd(this.#world);
    this.#sockets = new SocketPool(createLookup(options.addressProblem), this.#world);
  }

  /** Starts a request. `sink` is called from the next turn of the event loop on. */
  call(request: ProviderRequest, sink: ProviderSink): ProviderCall {
    const { deps, isLiteral } = this.#targetOf(request.baseUrl);
    const { target } = deps;
    const problem = isLiteral ? this.#options.addressProblem?.(target.hostname) : undefined;
    const exchange = new Exchange(request, sink, deps);
    this.#running.add(exchange);
    if (this.#isClosed) {
      const message = `${target.label} was not dialled: calls are stopped here.`;
      exchange.refuse({ code: "provider_disconnected", message });
    } else if (problem === undefined) {
      exchange.start();
    } else {
      const message = `${target.label} was not dialled: ${problem}`;
      exchange.refuse({ code: "provider_unreachable", message });
    }
    return exchange;
  }

  /** Cuts what runs and what is still called (sinks hear a failure); resolves when the last socket is closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#running.forEach((exchange) => exchange.stop());
    this.#sockets.close();
    await this.#running.emptied();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #targetOf(baseUrl: string): KnownTarget {
    const known = this.#targets.get(baseUrl);
    if (known !== undefined) return known;
    if (this.#targets.size >= maxCachedTargets) this.#targets.clear();
    const target = parseTarget(baseUrl);
    const made = { deps: this.#depsFor(target), isLiteral: isIP(target.hostname) !== 0 };
    this.#targets.set(baseUrl, made);
    return made;
  }

  #depsFor(target: ProviderTarget): ExchangeDeps {
    return {
      target,
      requestHeads: new RequestHeads(target.host),
      responseHeads: new ResponseHeads(),
      sockets: this.#sockets,
      connectTimeoutMs: this.#options.connectTimeoutMs,
      world: this.#world,
      turnEnd: this.#turnEnd,
      onClosed: this.#onClosed,
    };
  }

  readonly #onClosed = (exchange: Exchange): void => {
    this.#running.remove(exchange);
  };
}

import { AgentSession } from "../agent-session.ts";
import { RequesterSession } from "../requester-session.ts";
import type { RequesterSessionHandlers, ResumeDecision } from "../requester-session.ts";
import type { IncomingRequest, RequestBodyHandler } from "../streams/agent-stream.ts";
import type { ResponseHandler } from "../streams/outgoing-request.ts";
import { memoryTransportPair } from "../transport/memory-transport.fixture.ts";
import type { MemoryTransport } from "../transport/memory-transport.fixture.ts";
import type { ResumeOffer } from "../wire/resume.ts";

const HEAD = {
  method: "POST",
  path: "/chat/completions",
  headers: {},
  protocol: "chatCompletions",
  stream: true,
};

/** One request as both ends see it. */
export class Exchange implements ResponseHandler {
  readonly bytes: Buffer[] = [];
  readonly story: string[] = [];
  isBehind = false;

  onHead(head: { status: number }): void {
    this.story.push(`head ${head.status}`);
  }

  onData(chunk: Buffer): boolean {
    this.bytes.push(Buffer.from(chunk));
    return !this.isBehind;
  }

  onEnd(): void {
    this.story.push("end");
  }

  onReset(code: number): void {
    this.story.push(`reset ${code}`);
  }

  onResumed(): void {
    this.story.push("resumed");
  }

  onClosed(): void {
    this.story.push("closed");
  }

  get text(): string {
    return Buffer.concat(this.bytes).toString("latin1");
  }
}

/** The agent's end of one request. */
export class Served implements RequestBodyHandler {
  readonly request: IncomingRequest;
  readonly bytes: Buffer[];
  readonly story: string[] = [];
  isBehind = false;

  constructor(request: IncomingRequest) {
    this.request = request;
    this.bytes = [Buffer.from(request.body)];
    if (request.end) this.story.push("body end");
  }

  onBody(chunk: Buffer): boolean {
    this.bytes.push(Buffer.from(chunk));
    return !this.isBehind;
  }

  onBodyEnd(): void {
    this.story.push("body end");
  }

  onReset(code: number): void {
    this.story.push(`reset ${code}`);
  }

  onDrain(): void {
    this.story.push("drain");
  }

  get text(): string {
    return Buffer.concat(this.bytes).toString("latin1");
  }
}

export interface TunnelSettings {
  hubResumeMs?: number;
  agentResumes?: boolean;
  windowBytes?: number;
}

/** A hub and an agent that keep their session over several connections. */
export class ResumableTunnel {
  readonly hubStory: string[] = [];
  readonly agentStory: string[] = [];
  readonly served: Served[] = [];
  readonly sessions = new Map<string, { session: RequesterSession; secret: string }>();
  hub: RequesterSession | undefined;
  agent: AgentSession | undefined;
  ends: [MemoryTransport, MemoryTransport] | undefined;
  readonly #settings: TunnelSettings;
  #minted = 0;

  constructor(settings: TunnelSettings = {}) {
    this.#settings = settings;
  }

  /**
   * A new connection, which presents the session of the one before. Resolves once both HELLOs are read.
   *
   * @param isPinged - the hub's first ping has its pong, too
   */
  async connect(isPinged = true): Promise<void> {
    const ends = memoryTransportPair();
    this.ends = ends;
    this.accept(ends[0]);
    this.dial(ends[1]);
    await turns(8);
    if (isPinged) ends[0].ping();
    await turns(4);
  }

  dial(transport: MemoryTransport): AgentSession {
    const { agentResumes = true, windowBytes } = this.#settings;
    const candidate: AgentSession = new AgentSession(transport, {
      maxStreams: 64,
      requestWindowBytes: windowBytes,
      capabilities: {},
      pingIntervalMs: undefined,
      bootId: agentResumes ? "boot" : undefined,
      resumes: this.agent,
      handlers: {
        onHello: () => {
          this.agent = candidate;
          this.agentStory.push("hello");
        },
        onResume: () => this.agentStory.push("resumed"),
        onInterrupted: (streams) => this.agentStory.push(`interrupted ${streams}`),
        onRequest: (request) => {
          const served = new Served(request);
          this.served.push(served);
          return served;
        },
        onGoAway: () => this.agentStory.push("goaway"),
        onClose: (code) => this.agentStory.push(`closed ${code}`),
        onError: (error) => {
          throw error;
        },
      },
    });
    candidate.sendStatus({ ready: true });
    return candidate;
  }

  accept(transport: MemoryTransport): void {
    const { hubResumeMs = 30_000, windowBytes = 64 * 1024 } = this.#settings;
    let own: { id: string } | undefined;
    const handlers: RequesterSessionHandlers = {
      decideResume: (offer) => {
        const decision = this.#decide(offer, session);
        if (decision.kind === "new") own = decision;
        return decision;
      },
      onHello: () => {
        this.hub = session;
        this.hubStory.push("hello");
      },
      onInterrupted: (streams) => this.hubStory.push(`interrupted ${streams}`),
      onResume: (streams) => this.hubStory.push(`resumed ${streams}`),
      onStatus: () => {},
      onLife: () => {},
      onGoAway: () => this.hubStory.push("goaway"),
      onClose: (code) => {
        if (own !== undefined) this.sessions.delete(own.id);
        this.hubStory.push(`closed ${code}`);
      },
      onError: (error) => {
        throw error;
      },
    };
    const session: RequesterSession = new RequesterSession(transport, {
      responseWindowBytes: windowBytes,
      maxStreams: 64,
      pingIntervalMs: undefined,
      resumeMs: hubResumeMs,
      handlers,
    });
  }

  #decide({ claim }: ResumeOffer, session: RequesterSession): ResumeDecision {
    const known = claim === undefined ? undefined : this.sessions.get(claim.id);
    if (known !== undefined && claim !== undefined) {
      if (known.secret !== claim.secret)
        return { kind: "refuse", code: 4009, reason: "another secret" };
      return { kind: "resume", session: known.session };
    }
    this.#minted += 1;
    const [id, secret] = [`session-${this.#minted}`, `secret-${this.#minted}`];
    this.sessions.set(id, { session, secret });
    return { kind: "new", id, secret };
  }

  /** The connection breaks: what is on its way is lost. */
  async cut(): Promise<void> {
    this.ends?.[0].cut();
    await turns(3);
  }

  send(body: readonly Buffer[] = []): Exchange & { reset: () => void; resume: () => void } {
    const exchange = new Exchange();
    if (this.hub === undefined) throw new Error("not connected");
    const stream = this.hub.open(HEAD, body, exchange);
    return Object.assign(exchange, {
      reset: () => stream.reset(1, "cancelled"),
      resume: () => stream.resume(),
    });
  }

  /** The last request that the agent got. */
  get last(): Served {
    const served = this.served.at(-1);
    if (served === undefined) throw new Error("no request arrived");
    return served;
  }
}

/** Lets `count` turns of the event loop pass: in each, one message is delivered in each direction. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
}

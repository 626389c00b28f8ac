import type { Participant } from "../../../packages/hub/src/domain/participant.ts";
import { TunnelRegistry } from "../../../packages/hub/src/upstreams/tunnel/registry.ts";
import { systemWorld, type World } from "@roomhub/protocol";
import { AgentSession } from "../../../packages/tunnel/src/agent-session.ts";
import {
  RequesterSession,
  type ResumeDecision,
} from "../../../packages/tunnel/src/requester-session.ts";
import { LogBudget } from "../../../packages/tunnel/src/resume/sent-log.ts";
import type { ResumeOffer } from "../../../packages/tunnel/src/wire/resume.ts";
import { connect, type Connection } from "./connections.ts";
import { Exchange, Served, type Script } from "./requests.ts";

/** How often what happens. */
export interface TunnelBudget {
  cuts: number;
  /** The agent dials although its connection may be all right. */
  dials: number;
  /** A hub ends an interrupted session that its agent would resume. */
  expiries: number;
  cancels: number;
  /** An agent dials the hub that does not have its session. */
  moves: number;
}

export interface Setting {
  budget: TunnelBudget;
  script: Script;
  agents: number;
  /** of the logs of all sessions of a hub */
  logBytes: number;
}

/** Violations of the wire by the other end, or bugs: never among our own ends. */
const codesOfDefects = new Set([1011, 4002, 4003, 4004, 4005, 4006, 4008]);

/** One agent with its requests, at the hubs where it was. */
export class Agent {
  readonly exchanges: Exchange[] = [];
  readonly served: Served[] = [];
  session: AgentSession | undefined;
  /** What has the latest dial. */
  candidate: AgentSession | undefined;
  connections: { hubId: number; ends: Connection; hub: RequesterSession; agent: AgentSession }[] =
    [];
  /** Which of its tunnels has its requests, by hub. */
  readonly registries = [new TunnelRegistry(), new TunnelRegistry()];
  readonly participant: Participant;

  constructor(key: string) {
    this.participant = { key } as Participant;
  }

  /** Its session at a hub that takes requests. */
  get hub(): RequesterSession | undefined {
    const sessions = this.registries.map((registry) => registry.sessionOf(this.participant));
    return sessions.find((session) => session?.isReady === true);
  }
}

/** Two hubs and agents, with the sessions that the product runs, over connections that the exploration moves. */
export class TunnelWorld {
  readonly agents: Agent[];
  readonly left: TunnelBudget;
  readonly problems: string[] = [];
  readonly script: Script;
  /** by hub and id */
  readonly sessions = new Map<string, RequesterSession>();
  readonly timers: (() => void)[] = [];
  readonly #budgets: LogBudget[];
  readonly #world: World;
  readonly #began: { of: Agent; session: RequesterSession }[] = [];
  #soon: (() => void)[] = [];
  #minted = 0;

  constructor(setting: Setting) {
    this.script = setting.script;
    this.left = { ...setting.budget };
    this.agents = Array.from({ length: setting.agents }, (_each, at) => new Agent(String(at)));
    this.#budgets = [0, 1].map(() => new LogBudget(setting.logBytes));
    this.#world = {
      ...systemWorld,
      monotonicMs: () => 0,
      setImmediate: (task) => this.#add(this.#soon, task),
      clearImmediate: (task) => remove(this.#soon, task),
      setTimeout: (task) => this.#add(this.timers, task),
      clearTimeout: (task) => remove(this.timers, task),
      unref: (timer) => timer,
    };
  }

  /** A turn of the event loop: what is written in it leaves at its end. */
  turn(run: () => void): void {
    try {
      run();
      for (let task = this.#soon.shift(); task !== undefined; task = this.#soon.shift()) task();
    } catch (error) {
      this.problems.push(String(error));
    }
  }

  fire(index: number): void {
    const [task] = this.timers.splice(index, 1);
    task?.();
  }

  dial(agent: Agent, hubId: number): void {
    const before = agent.connections.find((one) => one.agent === agent.candidate);
    if (agent.candidate !== agent.session) before?.ends.agent.terminate();
    const ends = connect();
    const hub = this.#accept(agent, hubId, ends);
    const session: AgentSession = new AgentSession(ends.agent, {
      ...{ maxStreams: 4, requestWindowBytes: this.script.windowBytes, capabilities: {} },
      ...{ pingIntervalMs: undefined, bootId: "boot", resumes: agent.session, world: this.#world },
      handlers: {
        onHello: () => {
          agent.session = session;
        },
        onResume: (resumed) => {
          agent.candidate = resumed;
        },
        onRequest: (request) => {
          const served = new Served(request, this.script, this.problems);
          agent.served.push(served);
          if (agent.served.length > agent.exchanges.length)
            this.problems.push("a request arrives twice");
          return served;
        },
        onGoAway: () => undefined,
        onClose: (code, reason) => this.#closed("agent", code, reason),
        onError: (error) => void this.problems.push(String(error)),
      },
    });
    agent.candidate = session;
    agent.connections.push({ hubId, ends, hub, agent: session });
  }

  request(agent: Agent): void {
    const exchange = new Exchange(this.script, this.problems);
    agent.exchanges.push(exchange);
    const { hub } = agent;
    if (hub === undefined) return;
    const head = { method: "POST", path: "/", headers: {}, protocol: "p", stream: true };
    exchange.stream = hub.open(head, [Buffer.from(this.script.body)], exchange);
  }

  /** Those that hubs have of this agent, in the order in which they began. */
  sessionsOf(agent: Agent): RequesterSession[] {
    return this.#began
      .filter(({ of, session }) => of === agent && session.isOpen)
      .map(({ session }) => session);
  }

  expire(session: RequesterSession): void {
    session.tick(0);
    session.tick(1_000_000);
  }

  /** Drops what can have no effect any more. */
  tidy(): void {
    for (const agent of this.agents)
      agent.connections = agent.connections.filter(
        ({ ends: { hub, agent } }) => !hub.isOver || !agent.isOver,
      );
  }

  #accept(agent: Agent, hubId: number, ends: Connection): RequesterSession {
    let own: string | undefined;
    const { participant, registries } = agent;
    const registry = registries[hubId]!;
    const session: RequesterSession = new RequesterSession(ends.hub, {
      ...{ responseWindowBytes: this.script.windowBytes, maxStreams: 4 },
      ...{ pingIntervalMs: undefined, resumeMs: 1_000, world: this.#world },
      logBudget: this.#budgets[hubId],
      handlers: {
        decideResume: (offer) => {
          const decision = this.#decide(hubId, offer, session);
          if (decision.kind === "new") own = `${hubId} ${decision.id}`;
          return decision;
        },
        onGivenOver: () => void registry.remove(participant, session),
        onHello: () => registry.promote(participant, session),
        onStatus: () => undefined,
        onLife: () => undefined,
        onGoAway: () => undefined,
        onClose: (code, reason) => {
          if (own !== undefined) this.sessions.delete(own);
          registry.remove(participant, session);
          this.#closed("hub", code, reason);
        },
        onError: (error) => void this.problems.push(String(error)),
      },
    });
    registry.addCandidate(participant, session);
    this.#began.push({ of: agent, session });
    return session;
  }

  #decide(hubId: number, { claim }: ResumeOffer, session: RequesterSession): ResumeDecision {
    const known = claim && this.sessions.get(`${hubId} ${claim.id}`);
    if (known !== undefined) return { kind: "resume", session: known };
    const id = `s${(this.#minted += 1)}`;
    this.sessions.set(`${hubId} ${id}`, session);
    return { kind: "new", id, secret: id };
  }

  #closed(who: string, code: number, reason: string): void {
    if (reason === "the session is too far behind" || reason === "the hub is too far behind")
      return;
    if (codesOfDefects.has(code)) this.problems.push(`the ${who} closes with ${code}: ${reason}`);
  }

  #add(tasks: (() => void)[], task: () => void): () => void {
    tasks.push(task);
    return task;
  }
}

function remove(tasks: (() => void)[], task: unknown): void {
  const at = tasks.indexOf(task as () => void);
  if (at !== -1) tasks.splice(at, 1);
}

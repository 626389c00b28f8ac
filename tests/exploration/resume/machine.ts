import type { AgentSession } from "../../../packages/tunnel/src/agent-session.ts";
import type { RequesterSession } from "../../../packages/tunnel/src/requester-session.ts";
import type { Messages } from "../../../packages/tunnel/src/resume/messages.ts";
import type { Machine, Step } from "../explore.ts";
import { fingerprint } from "./fingerprint.ts";
import { type Agent, type Setting, type TunnelBudget, TunnelWorld } from "./tunnel-world.ts";
import type { End } from "./connections.ts";

/** A way from the beginning, as the places of its steps among those that could be taken, and what was there. */
interface Way {
  places: number[];
  /** As it is there, until a step is taken in it. */
  world: TunnelWorld | undefined;
  key: string;
  problem: string | undefined;
  isCalm: boolean;
}

interface Choice {
  name: string;
  isFault: boolean;
  run: () => void;
}

/** Sessions cannot be copied: each state is reached anew, from the beginning. */
export function resumeMachine(setting: Setting): Machine<Way> {
  return {
    initial: wayOf(new TunnelWorld(setting), []),
    steps: (way) => {
      const { places } = way;
      const found: Step<Way>[] = [];
      let world = way.world ?? arrive(setting, places);
      way.world = undefined;
      const count = choicesIn(world).length;
      for (let place = 0; place < count; place += 1) {
        if (place > 0) world = arrive(setting, places);
        const { name, isFault } = take(world, place);
        found.push({ name, isFault, state: wayOf(world, [...places, place]) });
      }
      return found;
    },
    keyOf: ({ key }) => key,
    problemOf: ({ problem }) => problem,
    isCalm: ({ isCalm }) => isCalm,
  };
}

function arrive(setting: Setting, places: number[]): TunnelWorld {
  const world = new TunnelWorld(setting);
  for (const place of places) take(world, place);
  return world;
}

function take(world: TunnelWorld, place: number): Choice {
  const choice = choicesIn(world)[place];
  if (choice === undefined) throw new Error("the same steps lead elsewhere");
  world.turn(choice.run);
  world.tidy();
  return choice;
}

function wayOf(world: TunnelWorld, places: number[]): Way {
  const { agents, left, timers, problems } = world;
  const key = fingerprint([agents, left, timers.length]);
  return { places, world, key, problem: problems[0], isCalm: isCalm(world) };
}

/** What may happen now, always in the same order. */
function choicesIn(world: TunnelWorld): Choice[] {
  const choices: Choice[] = [];
  const add = (name: string, run: () => void, isFault = false) =>
    void choices.push({ name, isFault, run });
  const fault = (what: keyof TunnelBudget, name: string, run: () => void) => {
    if (world.left[what] === 0) return;
    const spend = () => {
      world.left[what] -= 1;
      run();
    };
    add(name, spend, true);
  };
  for (const [at, agent] of world.agents.entries()) {
    const name = world.agents.length === 1 ? "the agent" : `agent ${at}`;
    ofConnections(agent, name, add, fault);
    ofAgent(world, agent, name, add, fault);
  }
  for (const index of world.timers.keys())
    add("an acknowledgement is due", () => world.fire(index));
  return choices;
}

type Add = (name: string, run: () => void, isFault?: boolean) => void;
type AddFault = (what: keyof TunnelBudget, name: string, run: () => void) => void;

function ofConnections(agent: Agent, name: string, add: Add, fault: AddFault): void {
  for (const { hubId, ends } of agent.connections) {
    ofEnd(ends.hub, `hub ${hubId}`, add);
    ofEnd(ends.agent, name, add);
    if (ends.hub.isOver || ends.agent.isOver) continue;
    if (ends.hub.isBroken) continue;
    fault("cuts", "the connection breaks", () => {
      ends.hub.isBroken = true;
      ends.agent.isBroken = true;
    });
  }
}

function ofEnd(end: End, name: string, add: Add): void {
  if (end.isOver) return;
  if (end.inbox.length > 0) add(`${name} gets a message`, () => end.deliver());
  if (end.isBroken) add(`${name} notices that its connection is lost`, () => end.end(1006, ""));
}

function ofAgent(world: TunnelWorld, agent: Agent, name: string, add: Add, fault: AddFault): void {
  const isDialled = agent.connections.some(({ ends }) => !ends.agent.isOver);
  if (!isDialled) add(`${name} dials`, () => world.dial(agent, 0));
  else fault("dials", `${name} dials although it has a connection`, () => world.dial(agent, 0));
  fault("moves", `${name} dials the other hub`, () => world.dial(agent, 1));
  const { hub } = agent;
  if (agent.exchanges.length < world.script.requests && hub?.isReady === true)
    add(`a request for ${name} begins`, () => world.request(agent));
  for (const exchange of agent.exchanges) {
    if (exchange.isCancelled || exchange.end !== undefined) continue;
    fault("cancels", `a client of ${name} leaves`, () => {
      exchange.isCancelled = true;
      exchange.stream?.reset(1, "cancelled");
    });
  }
  for (const served of agent.served) {
    if (served.mustConfirm) add(`${name} confirms an end`, () => served.confirm());
    else if (served.canWrite) add(`${name} writes`, () => served.write());
  }
  for (const session of world.sessionsOf(agent)) {
    if (!session.isInterrupted) continue;
    const isWanted = agent.session?.isInterrupted === true;
    if (isWanted) fault("expiries", "a hub ends the session", () => world.expire(session));
    else add("a hub ends the session", () => world.expire(session));
  }
}

interface OpenSession {
  $$link: { $$messages: Messages };
}

/** Both have what the other sent, and know that. */
function agree(one: AgentSession, other: RequesterSession): boolean {
  const [mine, its] = [one, other].map((end) => (end as unknown as OpenSession).$$link.$$messages);
  if (mine === undefined || its === undefined) return false;
  const areThere = mine.point.received === its.point.sent && its.point.received === mine.point.sent;
  return areThere && mine.log?.isEmpty === true && its.log?.isEmpty === true;
}

/** Each request has its end at both ends, which agree, and nothing is under way. */
function isCalm(world: TunnelWorld): boolean {
  if (world.timers.length > 0) return false;
  return world.agents.every(({ session, hub, exchanges, connections }) => {
    const [only, ...others] = connections;
    if (only === undefined || others.length > 0) return false;
    if (only.ends.hub.inbox.length > 0 || only.ends.agent.inbox.length > 0) return false;
    if (only.ends.hub.isOver || only.ends.agent.isOver || only.ends.hub.isBroken) return false;
    if (exchanges.length < world.script.requests || !exchanges.every((one) => one.isClosed))
      return false;
    if (session === undefined || hub === undefined || !agree(session, hub)) return false;
    return session.activeStreams === 0 && hub.activeStreams === 0;
  });
}

import type { Participant } from "../participant.ts";

/** The hash of a prompt's beginning. */
export interface PromptBorder {
  /** of the beginning and its length */
  key: number;
  /** length of the beginning */
  bytes: number;
}

/** What decides where a request's prompt may be warm. */
export interface Prompt {
  /** keyed hash of the session that the client names; undefined when it names none */
  session: string | undefined;
  /** of its beginnings, the shortest first; with a session they are not looked at */
  borders: readonly PromptBorder[];
  /** length of `messages` or `input` */
  bytes: number;
}

/** A prompt that says nothing about where it may be warm. */
export const noPrompt: Prompt = Object.freeze({ session: undefined, borders: [], bytes: 0 });

/** A prompt as a participant computed it last. */
interface Conversation {
  readonly participant: Participant;
  /** of its beginnings, the longest last */
  readonly keys: readonly Key[];
  readonly bytes: number;
  /** ms on the hub's clock */
  readonly usedMs: number;
}

type Key = string | number;

/** What one participant may hold warm. */
interface Cache {
  /** least recently used first */
  readonly conversations: Set<Conversation>;
  /** by their last key */
  readonly byEnd: Map<Key, Conversation>;
}

const nothingWarm: ReadonlyMap<Participant, number> = new Map();

const warmMs = 15 * 60_000;
const maxPerRoom = 4_096;
const perSlot = 4;
const leastPerParticipant = 8;
const mostPerParticipant = 1_024;
/** A beginning that all conversations share is warm nearly everywhere, and says little. */
const maxHolders = 32;

/**
 * Which prompts the participants of a room computed lately, and so may still hold in their caches. A guess: only
 * preferences are built on it. Contract §3: four conversations per slot and participant (8 to 1,024), 4,096 per room,
 * for 15 minutes.
 */
export class WarmConversations {
  /** least recently used first */
  readonly #all = new Set<Conversation>();
  readonly #caches = new Map<Participant, Cache>();
  /** how many conversations of each participant begin with a key's part of the prompt */
  readonly #holders = new Map<Key, Map<Participant, number>>();

  get size(): number {
    return this.#all.size;
  }

  /** How many bytes of the prompt each participant may hold warm; those with none are absent. */
  warmBytes(prompt: Prompt, nowMs: number): ReadonlyMap<Participant, number> {
    const keys = keysOf(prompt);
    if (keys.length === 0 || this.#all.size === 0) return nothingWarm;
    this.#dropExpired(nowMs);
    const warm = new Map<Participant, number>();
    for (const { key, bytes } of keys) {
      let looked = 0;
      for (const participant of this.#holders.get(key)?.keys() ?? []) {
        if (++looked > maxHolders) break;
        const ended = this.#caches.get(participant)?.byEnd.get(key);
        // A conversation that ends in this beginning has grown since: all of it is warm.
        const share = ended !== undefined && ended.bytes <= prompt.bytes ? ended.bytes : bytes;
        warm.set(participant, Math.max(share, warm.get(participant) ?? 0));
      }
    }
    return warm;
  }

  /** A participant computes this prompt now. */
  note(participant: Participant, prompt: Prompt, nowMs: number): void {
    const keys = keysOf(prompt).map(({ key }) => key);
    if (keys.length === 0) return;
    this.#dropExpired(nowMs);
    const cache = this.#caches.get(participant);
    // An earlier turn of the same conversation ends in one of this prompt's beginnings.
    const earlier = keys.findLast((key) => cache?.byEnd.has(key) === true);
    if (earlier !== undefined) this.#remove(cache?.byEnd.get(earlier));
    this.#add({ participant, keys, bytes: prompt.bytes, usedMs: nowMs });
  }

  /** The least recently used first. */
  all(): Iterable<Conversation> {
    return this.#all;
  }

  /** Takes over a conversation of another hub, in the order of {@link all}. */
  learn(conversation: Conversation): void {
    this.#add(conversation);
  }

  /** The participant did not compute this prompt after all. */
  drop(participant: Participant, prompt: Prompt): void {
    const last = keysOf(prompt).at(-1);
    if (last !== undefined) this.#remove(this.#caches.get(participant)?.byEnd.get(last.key));
  }

  /** The participant's cache is lost, or it has left. */
  forget(participant: Participant): void {
    for (const one of this.#caches.get(participant)?.conversations ?? []) this.#remove(one);
  }

  #add(conversation: Conversation): void {
    const { participant, keys } = conversation;
    let cache = this.#caches.get(participant);
    if (cache === undefined) {
      cache = { conversations: new Set(), byEnd: new Map() };
      this.#caches.set(participant, cache);
    }
    cache.conversations.add(conversation);
    cache.byEnd.set(keys.at(-1) as Key, conversation);
    this.#all.add(conversation);
    for (const key of keys) {
      let holders = this.#holders.get(key);
      if (holders === undefined) this.#holders.set(key, (holders = new Map()));
      holders.set(participant, (holders.get(participant) ?? 0) + 1);
    }
    if (cache.conversations.size > mostOf(participant)) this.#remove(first(cache.conversations));
    if (this.#all.size > maxPerRoom) this.#remove(first(this.#all));
  }

  #remove(conversation: Conversation | undefined): void {
    if (conversation === undefined || !this.#all.delete(conversation)) return;
    const { participant, keys } = conversation;
    const cache = this.#caches.get(participant);
    cache?.conversations.delete(conversation);
    const end = keys.at(-1) as Key;
    if (cache?.byEnd.get(end) === conversation) cache.byEnd.delete(end);
    if (cache?.conversations.size === 0) this.#caches.delete(participant);
    for (const key of keys) {
      const holders = this.#holders.get(key);
      const left = (holders?.get(participant) ?? 0) - 1;
      if (left > 0) holders?.set(participant, left);
      else holders?.delete(participant);
      if (holders?.size === 0) this.#holders.delete(key);
    }
  }

  #dropExpired(nowMs: number): void {
    for (const oldest of this.#all) {
      if (nowMs - oldest.usedMs <= warmMs) return;
      this.#remove(oldest);
    }
  }
}

function mostOf({ load }: Participant): number {
  const { limit } = load;
  return Math.min(Math.max(limit * perSlot, leastPerParticipant), mostPerParticipant);
}

function first<T>(among: Iterable<T>): T | undefined {
  for (const one of among) return one;
  return undefined;
}

/** The shortest beginning first. A session has one key for all of its prompt. */
function keysOf({ session, borders, bytes }: Prompt): readonly { key: Key; bytes: number }[] {
  if (session !== undefined) return [{ key: session, bytes }];
  return borders;
}

import type { IncomingRequest, RequestBodyHandler, Transport } from "@roomhub/tunnel";
import type { HubIdentity } from "../../domain/participant.ts";
import { HubError } from "../../errors.ts";
import type {
  ForwardedCall,
  ForwardedRequest,
  ForwardReply,
  ForwardTarget,
} from "../../inference/forwarding/forwarded-request.ts";
import type { ForwardRefusal } from "../../inference/upstream.ts";
import { AcceptedLinks } from "./accepted-links.ts";
import { respondToHub, askHub, type LinkResponse } from "./ask.ts";
import { DialledLink, type DialledLinkEvents } from "./dialled-link.ts";
import { serveStream } from "./forwarded-stream.ts";
import { type AcceptLink, createLinkAcceptor } from "./link-acceptor.ts";
import { NodeUpstream } from "./node-upstream.ts";
import type { Dial, LinkSettings, LinkTarget } from "./link-settings.ts";

/** A message that is not responded to. `kind` says what it is; hubs ignore those they do not know. */
export interface LinkNotice {
  readonly kind: string;
}

/** What comes over the links. Must not throw. */
export interface LinkHandlers {
  /** The link that this hub dialled: requests can be sent over it. */
  linkOpened(hub: HubIdentity): void;
  /** The same link is lost; its requests have ended or end next. */
  linkClosed(hub: HubIdentity, reason: string): void;
  /** The link that the other hub dialled is lost: its notices end. */
  acceptedClosed(hub: HubIdentity): void;
  forwarded(request: ForwardedRequest, reply: ForwardReply): ForwardedCall;
  /** A forwarded request was not taken: what is known of the participant's load here is old. */
  refused(target: ForwardTarget, refusal: ForwardRefusal): void;
  /** A question, or a management request. A rejection is a bug. */
  asked(hub: HubIdentity, path: string, body: unknown): Promise<LinkResponse>;
  /** Not checked except that it is an object with a `kind`. */
  noticed(hub: HubIdentity, notice: LinkNotice): void;
  bug(error: unknown): void;
}

/** The links of one hub to all others of its cluster: it asks over those it dialled and responds over those it accepted. */
export class Links {
  readonly #settings: LinkSettings;
  readonly #dial: Dial;
  readonly #handlers: LinkHandlers;
  /** by hub id */
  readonly #dialled = new Map<string, DialledLink>();
  readonly #accepted: AcceptedLinks;
  /** Completes the WebSocket handshake of `GET /v1/cluster/link`. */
  readonly accept: AcceptLink;

  constructor(settings: LinkSettings, dial: Dial, handlers: LinkHandlers) {
    this.#settings = settings;
    this.#dial = dial;
    this.#handlers = handlers;
    this.#accepted = new AcceptedLinks(settings, {
      requested: (hub, request) => this.#requested(hub, request),
      noticed: (hub, notice) => this.#noticed(hub, notice),
      closed: (hub) => handlers.acceptedClosed(hub),
      bug: (error) => handlers.bug(error),
    });
    this.accept = createLinkAcceptor(this.#accepted.unproven, (transport) =>
      this.acceptTransport(transport),
    );
  }

  /** Dials it, or goes on where it is dialled already. */
  hubPresent(target: LinkTarget): void {
    const { hubId } = target;
    if (hubId === this.#settings.own.hubId) return;
    const link = this.#dialled.get(hubId);
    if (link !== undefined) return link.retarget(target);
    const handlers = this.#handlers;
    const events: DialledLinkEvents = {
      opened: (hub) => handlers.linkOpened(hub),
      closed: (hub, reason) => {
        if (this.#dialled.get(hubId)?.isOver === true) this.#dialled.delete(hubId);
        handlers.linkClosed(hub, reason);
      },
      noticed: (hub, notice) => this.#noticed(hub, notice),
      bug: (error) => handlers.bug(error),
    };
    this.#dialled.set(hubId, new DialledLink(target, this.#settings, this.#dial, events));
  }

  /** It is not dialled any more. */
  hubGone(hubId: string): void {
    const link = this.#dialled.get(hubId);
    this.#dialled.delete(hubId);
    link?.close("the hub has left the cluster");
  }

  /** It has left in order: what runs at it may finish, and then it is not dialled any more. */
  hubLeft(hubId: string): void {
    if (this.#dialled.get(hubId)?.letGo() !== true) this.hubGone(hubId);
  }

  /** The link that this hub dialled is open and answers. */
  isOpen(hubId: string): boolean {
    return this.#sessionTo(hubId) !== undefined;
  }

  /** The hubs to which {@link isOpen} links. */
  openHubIds(): readonly string[] {
    const open: string[] = [];
    for (const [hubId, link] of this.#dialled) if (link.session !== undefined) open.push(hubId);
    return open;
  }

  /** Why no link to it is open, for people; undefined while one is, and while the first dial runs. */
  problemOf(hubId: string): string | undefined {
    return this.#dialled.get(hubId)?.problem;
  }

  /** @throws HubError `peer_unavailable` */
  ask(hubId: string, path: string, body: unknown, timeoutMs: number): Promise<LinkResponse> {
    const session = this.#sessionTo(hubId);
    if (session !== undefined) return askHub(session, path, body, timeoutMs);
    return Promise.reject(new HubError("peer_unavailable", `There is no link to hub ${hubId}.`));
  }

  /** @returns false when it was dropped: no link is open, or its hub does not read */
  notify(hubId: string, notice: LinkNotice): boolean {
    const session = this.#sessionTo(hubId) ?? this.#accepted.sessionOf(hubId);
    return session?.notify(notice) ?? false;
  }

  notifyAll(notice: LinkNotice): void {
    for (const hubId of this.#dialled.keys()) this.notify(hubId, notice);
  }

  /** Pings, deadness, unconfirmed resets. */
  tick(nowMs: number): void {
    for (const link of this.#dialled.values()) link.tick(nowMs);
    this.#accepted.tick(nowMs);
  }

  /** Other hubs send no new requests here; this one still sends its own. */
  refuseRequests(reason: string): void {
    this.#accepted.goAway(reason);
  }

  /** No new requests either way; those that run may finish. */
  goAway(reason: string): void {
    for (const link of this.#dialled.values()) link.goAway(reason);
    this.#accepted.goAway(reason);
  }

  /** Resolves when the response to every request of the other hubs is sent. */
  emptied(): Promise<void> {
    return this.#accepted.emptied();
  }

  close(reason: string): void {
    for (const link of this.#dialled.values()) link.close(reason);
    this.#dialled.clear();
    this.#accepted.close(reason);
  }

  /** A connection that another hub may have dialled. */
  acceptTransport(transport: Transport): void {
    this.#accepted.accept(transport);
  }

  /** Without a link, every request over it fails with `peer_unavailable`. */
  upstreamTo(target: ForwardTarget & { readonly hubId: string }): NodeUpstream {
    const { hubId } = target;
    return new NodeUpstream(this.#dialled.get(hubId)?.open, target, (refusal) =>
      this.#handlers.refused(target, refusal),
    );
  }

  #sessionTo(hubId: string) {
    return this.#dialled.get(hubId)?.session;
  }

  #requested(hub: HubIdentity, request: IncomingRequest): RequestBodyHandler {
    const { path } = request.head;
    const handlers = this.#handlers;
    if (request.head.forward !== undefined) {
      return serveStream(request, hub, (forwarded, reply) => handlers.forwarded(forwarded, reply));
    }
    const respond = (body: unknown) => handlers.asked(hub, path, body);
    return respondToHub(request, respond, (error) => handlers.bug(error));
  }

  #noticed(hub: HubIdentity, notice: Record<string, unknown>): void {
    if (typeof notice["kind"] !== "string") return;
    this.#handlers.noticed(hub, notice as unknown as LinkNotice);
  }
}

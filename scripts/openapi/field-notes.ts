/**
 * What types cannot express, by schema and field: units, sources, when something is absent. In the order of the document.
 * A field may hold a reference; OpenAPI 3.1 allows a description beside it.
 */
export const fieldNotes: Readonly<Record<string, string>> = {
  "Health.status": "`draining`, with status 503, while the hub stops",
  "Health.timestamp": "ISO 8601, UTC",

  "CreateRoomRequest.name": "Shown to people; not blank, no control or text-direction characters",
  "CreateRoomRequest.password":
    "At most 128 bytes of UTF-8. The join password: needed to join the room, not to use it",

  "Room.code": "6 characters without look-alikes. In paths in any letter case",
  "Room.createdAt": "Epoch milliseconds",
  "Room.participantCount": "Online and offline ones",

  "CreateRoomResponse.hostToken":
    "Needed to change the room's aliases from another machine. The hub keeps only its SHA-256",

  "CreateRoomRequest.closed": "Its use needs a key, and the response has the first one",
  "CreateRoomResponse.key": "The first key of a closed room",
  "Room.closed": "Its use needs a key; absent for an open room",

  "CreateKeyRequest.name":
    "Of its holder: up to 32 letters, digits, `.`, `_` and `-`. Unique in the room, whatever the letter case, until 30 days after the key ended",
  "CreateKeyRequest.may": "`use` and `watch` when left out",
  "CreateKeyRequest.models": "The models that its holder may use; absent for all",
  "CreateKeyRequest.requestsPerMinute":
    "How many inference requests it permits in a minute; absent for any number",
  "CreateKeyRequest.tokensPerDay":
    "How many tokens it permits until the hub's next midnight; absent for any number",
  "CreateKeyRequest.expiresInMs": "Absent for a key that does not expire",
  "NewKey.value": "`rhk_…`, in this response and nowhere else",

  "AliasRequest.pattern":
    "A name in which `*` (at most 4) stands for any text. Not `any`, and not beginning with `model:`",
  "AliasRequest.targets":
    "Ids, model names, `model:…` or `*`, in the order in which they are tried",
  "Alias.createdAt": "Epoch milliseconds",

  "JoinRequest.id":
    "Unique in the room. `*`, `any` and ids beginning with `model:` are reserved for the `model` field of requests",
  "JoinRequest.model": "Sent to the provider unchanged",
  "JoinRequest.endpoint":
    "The provider's base URL; without a path, `/v1` is used. No user name, query or fragment",
  "JoinRequest.password": "The room's join password, where it has one",
  "JoinRequest.authHeaders":
    "Header name to value, sent to that endpoint only. Kept in memory, never listed",
  "JoinRequest.machineSecret":
    "32 random bytes in base64url that only participants at the same model server have in common. Kept as a digest, never listed",
  "JoinRequest.agentId":
    "Random per agent process, and the same for all of its participants: at one model server their limits count once",
  "JoinRequest.transport":
    "`tunnel`: the participant opens a tunnel and is never dialled. `auto`: the hub dials the endpoint where allowed",
  "JoinRequest.liveness":
    "`probe`: the hub probes the endpoint every 10 s, so that no heartbeat is needed",
  UpdateParticipantRequest: "Any subset; `null` clears",
  "UpdateParticipantRequest.id": "If given, it must be the one in the path",

  "JoinRequest.context":
    "Tokens of prompt and output together that the model takes, where that is less than its server reports",
  "JoinResponse.heartbeatWithinMs": "A heartbeat is due within this; send one every 10 s",
  "JoinResponse.tunnel": "The WebSocket URL of the tunnel",
  "JoinResponse.hubs":
    "In a cluster: where its hubs take participants, the one that took the join first; at most 16",
  "JoinResponse.homeEpoch":
    "In a cluster: which home of the room took the join; it grows whenever the room moves",
  "JoinResponse.warnings": "Present when there are any, such as an endpoint the hub may not dial",
  "JoinResponse.participantToken":
    "Present exactly when a new one was issued. Store it: the hub keeps only its SHA-256",

  "Participant.status": "From signs of life; more than 30 s of silence is offline",
  "Participant.agentId": "The same for all participants of one agent process",
  "Participant.liveness": "Present when the hub probes its endpoint for signs of life",
  "Participant.loadedModels":
    "What its model server has loaded now, at most 64 names. Absent where it does not say",
  "Participant.context":
    "Tokens that prompt and output have together, and how that is known. Absent where nothing is known; `trained` is only what the model could have",
  "Participant.features": "What its model can do. Absent while nothing is known of any feature",
  "Participant.answersAs":
    "The model that its responses name, when that is another one. Absent otherwise",
  "Participant.config":
    "Without `instructions`, which are private; `hasInstructions` is true when there are some",
  "Participant.joinedAt": "Epoch milliseconds",
  "Participant.lastSeen": "Epoch milliseconds of the last sign of life",
  "Connection.connected":
    "A tunnel is open or, for a direct endpoint, the last call got a response",
  "Connection.lastTunnelSeenAt":
    "ISO 8601 time of the last frame or direct response; null only before the first",
  "Connection.path": "The path a request would take now",
  "Connection.readiness": "Whether its model server can take a request now",
  "Connection.resuming":
    "Its tunnel lost its connection: `streams` requests wait for it, since `sinceMs` ms; absent otherwise",
  "Connection.loading":
    "Its model server loads the model: `sinceMs` ms so far, and `expectedMs` as it took before; absent otherwise",
  "Connection.problem":
    "Why no request is sent to it now, or why further tunnels are refused; absent otherwise",
  "Load.active": "Requests running",
  "Load.queued": "Requests waiting that it could serve",
  "Load.limit": "How many may run at once",
  "Load.limitFrom":
    "Where the limit comes from: `maxConcurrency`, the model server itself, what its agent learned, or the hub's default",
  "Participant.budget": "What its agent lets all hubs together spend",
  "Budget.tokensPerDay": "Input and output tokens per day of its machine's time zone",
  "Budget.remainingTokens": "Of `tokensPerDay`, left today",
  "Budget.batchTokensPerDay": "Of its tokens, those that requests of batches may use per day",
  "Budget.remainingBatchTokens": "Of `batchTokensPerDay`, left today",
  "Budget.resetAt": "When the day's tokens are renewed: epoch ms",
  "Load.elsewhere":
    "Slots of its model server that are busy with something else: a cancelled request that continues, or another client",
  "Load.batch":
    "Requests of batches: `active` of those that run, and `queued` beside those that wait; absent for none",
  "Specs.vram": "GB",
  "Specs.ram": "GB",
  ParticipantConfig:
    "Defaults for fields that a request does not set; further keys are kept and not used",
  "ParticipantConfig.maxConcurrency": "Requests served at once; more of them wait",
  Capabilities:
    "What was declared and what was detected. `unsupported` excludes the participant from requests of that surface, `unknown` is tried",
  "Capabilities.streamUsage": "Accepts `stream_options.include_usage` in a chat stream",
  "Capabilities.implicitUsage": "Its chat streams report their tokens without `stream_options`",
  "Capabilities.responsesCompact": "Has `POST /responses/compact`",
  "Capabilities.responsesInputTokens": "Has `POST /responses/input_tokens`",
  "Capabilities.storedResponses": "Stores responses, so that `previous_response_id` works",
  "HeartbeatResponse.lastSeen": "Epoch milliseconds",

  "ModelEntry.id": "The participant's id",
  "ModelEntry.created": "Epoch seconds",
  "ModelEntry.owned_by": "The participant's nickname",
  "ModelEntry.name": "For pickers: nickname and model",

  RouteExplanation: "Where a request would go now, by the same selection that requests go through",
  "RouteExplanation.participants":
    "In the order they are considered; those that do not match come last",
  "RouteExplanation.onFailure": "What happens after a failure before the response begins",
  "RouteExplanation.refusal": "Present when the request would be refused",

  InferenceRequest:
    "JSON at most 512 levels deep. The hub reads these two fields and relays the bytes; all others are the provider's",
  "InferenceRequest.model":
    "Selector: a participant's id, a model's name, `model:<name>`, or `*` for any participant that can serve it now",
  "InferenceRequest.stream": "A stream is requested only by `true`",

  AnyObject: "Documented elsewhere",
  EventStream: "Server-sent events, as the provider sends them",
  Transcript: "Plain text, or subtitles",
  Sound: "Bytes of sound, as the provider sends them",

  "Error.error": "For programs: `code`. For people: `message` and `hint`, which may change",
  ErrorCode:
    "Every code of the hub's own errors. On inference, `code` may also be the provider's own: any string",
  "RequestSummary.place": "Of a queued one: 1 is the next, by the order of turns now",
  "RequestSummary.participantId": "Absent while it waits",
  "RequestSummary.model": "The participant's; absent while it waits",
  "RequestSummary.selector": "The request's `model` field",
  "RequestSummary.conversation": "The same for requests of one session in the room",
  "RequestSummary.priority": "`batch`: others come before it; absent for all others",
  "RequestSummary.attempt": "Attempts so far; 0 before the first",
  "RequestSummary.startedAt": "Epoch milliseconds of its arrival",
  "RequestSummary.firstAt": "Epoch milliseconds of the first content or body byte",
  "RequestSummary.outputTokens":
    "Events with generated content that were counted; absent when none were",
  Metrics: "Observed by the hub. What the provider does not report is absent, never 0 or null",
  "Metrics.ttftMs":
    "Milliseconds to the first generated content, or to the first byte of a JSON response",
  "Metrics.durationMs": "Milliseconds until the last byte was written",
  "Metrics.tokensPerSecond": "outputTokens / (durationMs / 1000)",
  DotEvent: "The `data` of one event; its `event` line has the same name as `type`",
  ColonEvent: "The `data` of one event; its `event` line has the same name as `type`",
};

import {
  Alias,
  AliasListResponse,
  AliasResponse,
  AnthropicModel,
  AnthropicModelList,
  Budget,
  Capabilities,
  Connection,
  CreateRoomResponse,
  DETAIL_EVENT_NAMES,
  DETAIL_PAYLOADS,
  type DetailEventName,
  ERROR_STATUS,
  ErrorBody,
  type ErrorCode,
  EVENT_NAMES,
  EVENT_PAYLOADS,
  type EventName,
  type EventSpelling,
  FAILURE_STAGES,
  HealthResponse,
  HubEntry,
  HubList,
  UnreachableHub,
  HeartbeatResponse,
  JoinResponse,
  Key,
  BansResponse,
  BlockedResponse,
  KeyListResponse,
  KeyResponse,
  Load,
  MeasuredFeatures,
  Metrics,
  ModelEntry,
  ModelList,
  NewKey,
  NewKeyResponse,
  ParticipantConfig,
  ParticipantListResponse,
  ParticipantResponse,
  ParticipantSummary,
  Refusal,
  REQUEST_SCHEMAS,
  RequestListResponse,
  RequestSummary,
  Room,
  RoomListResponse,
  RoomResponse,
  RouteAlias,
  RouteCandidate,
  RouteExplanation,
  Specs,
  spellEventName,
  SuccessResponse,
  Warning,
} from "@roomhub/protocol";
import { z } from "zod";
import type { AnthropicErrorBody } from "../../packages/hub/src/anthropic-error.ts";
import { fieldNotes } from "./field-notes.ts";

type JsonSchema = Record<string, unknown>;

/** An error on Anthropic's surfaces; this schema is checked against the type that the hub renders. */
const AnthropicError = z.object({
  type: z.literal("error"),
  error: z.object({
    type: z.enum([
      "invalid_request_error",
      "authentication_error",
      "permission_error",
      "not_found_error",
      "request_too_large",
      "rate_limit_error",
      "api_error",
      "overloaded_error",
    ]),
    message: z.string(),
    code: z.string(),
    stage: z.enum(FAILURE_STAGES).optional(),
    hint: z.string().optional(),
    participants: z.array(Refusal).optional(),
  }),
  request_id: z.string().optional(),
}) satisfies z.ZodType<AnthropicErrorBody>;

/** The hub reads two fields; all others are relayed. */
const InferenceRequest = z.looseObject({ model: z.string(), stream: z.boolean().optional() });

const eventUnions = { dot: "DotEvent", colon: "ColonEvent" } as const;

/** Of detail, too: one schema says what a stream may have. */
const eventNames = [...EVENT_NAMES, ...DETAIL_EVENT_NAMES];
const eventPayloads = { ...EVENT_PAYLOADS, ...DETAIL_PAYLOADS };
type AnyEventName = EventName | DetailEventName;

/** Every schema that has a name in the document. */
const named: Record<string, z.ZodType> = {
  Health: HealthResponse,
  HubList,
  HubEntry,
  UnreachableHub,
  CreateRoomRequest: REQUEST_SCHEMAS.createRoom,
  CreateRoomResponse,
  Room,
  RoomResponse,
  RoomListResponse,
  AliasRequest: REQUEST_SCHEMAS.alias,
  Alias,
  AliasResponse,
  AliasListResponse,
  UpdateRoomRequest: REQUEST_SCHEMAS.updateRoom,
  CreateKeyRequest: REQUEST_SCHEMAS.createKey,
  Key,
  NewKey,
  KeyResponse,
  NewKeyResponse,
  BansResponse,
  BlockedResponse,
  KeyListResponse,
  JoinRequest: REQUEST_SCHEMAS.join,
  UpdateParticipantRequest: REQUEST_SCHEMAS.updateParticipant,
  JoinResponse,
  MeasuredFeatures,
  Participant: ParticipantSummary,
  ParticipantResponse,
  ParticipantListResponse,
  Connection,
  Budget,
  Capabilities,
  Load,
  Specs,
  ParticipantConfig,
  Warning,
  HeartbeatRequest: REQUEST_SCHEMAS.heartbeat,
  HeartbeatResponse,
  SuccessResponse,
  ModelEntry,
  ModelList,
  AnthropicModel,
  AnthropicModelList,
  AnyModelEntry: z.union([ModelEntry, AnthropicModel]),
  AnyModelList: z.union([ModelList, AnthropicModelList]),
  RequestSummary,
  RequestListResponse,
  RouteExplanation,
  RouteCandidate,
  RouteAlias,
  InferenceRequest,
  AnyObject: z.looseObject({}),
  EventStream: z.string(),
  Sound: z.string(),
  Transcript: z.string(),
  Error: ErrorBody,
  AnthropicError,
  Refusal,
  ErrorCode: z.enum(Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]]),
  Metrics,
  ...eventSchemas("dot"),
  ...eventSchemas("colon"),
};

/** One schema per event, and the union of them. */
function eventSchemas(spelling: EventSpelling): Record<string, z.ZodType> {
  const schemas = eventNames.map((name) => eventSchema(name, spelling));
  const [first, ...rest] = schemas;
  if (first === undefined) throw new Error("there are no events");
  const each = eventNames.map((name, index) => [eventSchemaName(name, spelling), schemas[index]]);
  return {
    ...(Object.fromEntries(each) as Record<string, z.ZodType>),
    [eventUnions[spelling]]: z.discriminatedUnion("type", [first, ...rest]),
  };
}

function eventSchema(name: AnyEventName, spelling: EventSpelling) {
  return z.object({
    type: z.literal(spellEventName(name, spelling)),
    timestamp: z.iso.datetime(),
    roomCode: z.string(),
    ...eventPayloads[name].shape,
  });
}

/** `room.created` → `RoomCreatedEvent`, `RoomCreatedColonEvent`: names in a document have no colons. */
function eventSchemaName(name: AnyEventName, spelling: EventSpelling): string {
  const words = name.split(".").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join("")}${spelling === "dot" ? "Event" : "ColonEvent"}`;
}

/**
 * The schemas in the form of OpenAPI 3.1, by name. As a sender may write them: the hub ignores unknown fields, and
 * responses may gain fields, so no object is closed.
 *
 * @throws when a note is about a field that does not exist
 */
export function componentSchemas(): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    io: "input",
    uri: schemaRef,
    // A schema that is checked only by a function describes its rule in `.meta()`.
    unrepresentable: ({ zodSchema }) => (zodSchema._zod.def.type === "custom" ? "any" : "throw"),
    override: ({ jsonSchema }) => tidy(jsonSchema),
  });
  const components = Object.fromEntries(
    Object.keys(named).map((name) => {
      const { $schema: _dialect, $id: _id, ...schema } = { ...schemas[name] } as JsonSchema;
      return [name, schema];
    }),
  );
  addDiscriminator(components[eventUnions.dot], "dot");
  addDiscriminator(components[eventUnions.colon], "colon");
  addNotes(components);
  return components;
}

/** The reference to a schema in the document. @throws when there is none of that name */
export function schemaRef(name: string): string {
  if (!Object.hasOwn(named, name)) throw new Error(`the document has no schema ${name}`);
  return `#/components/schemas/${name}`;
}

/** Removes what is true of every number or name, or repeats the format. */
function tidy(jsonSchema: z.core.JSONSchema.BaseSchema): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.format === "uuid" || jsonSchema.format === "date-time") delete jsonSchema.pattern;
  delete jsonSchema.propertyNames;
}

/** Which event it is, for programs that write clients. */
function addDiscriminator(schema: JsonSchema | undefined, spelling: EventSpelling): void {
  const mapping = eventNames.map((name) => [
    spellEventName(name, spelling),
    schemaRef(eventSchemaName(name, spelling)),
  ]);
  Object.assign(schema ?? {}, {
    discriminator: { propertyName: "type", mapping: Object.fromEntries(mapping) as object },
  });
}

function addNotes(components: Record<string, JsonSchema>): void {
  for (const [path, description] of Object.entries(fieldNotes)) {
    const [name = "", ...fields] = path.split(".");
    let schema: JsonSchema | undefined = components[name];
    for (const field of fields) {
      const properties = schema?.["properties"] as Record<string, JsonSchema> | undefined;
      schema = properties?.[field];
    }
    if (schema === undefined) throw new Error(`a note is about ${path}, which does not exist`);
    schema["description"] = description;
  }
}

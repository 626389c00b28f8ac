import { expect, test } from "vitest";
import { LIMITS } from "./limits.ts";
import { parseBody } from "./parse-body.ts";
import { ignoredMembers, REQUEST_SCHEMAS } from "./request-schemas.ts";

const {
  createRoom: CreateRoomRequest,
  heartbeat: HeartbeatRequest,
  join: JoinRequest,
  updateParticipant: UpdateParticipantRequest,
} = REQUEST_SCHEMAS;

const ada = { id: "ada", nickname: "Ada", model: "llama3", endpoint: "http://127.0.0.1:11434" };

const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));
const withKey = (key: string, value: string) => JSON.parse(`{"${key}":${value},"name":"lab"}`);

test.each([
  ["null", null, "invalid_type", ""],
  ["nothing", undefined, "invalid_type", ""],
  ["a list", [{ name: "lab" }], "invalid_type", ""],
  ["text", "name=lab", "invalid_type", ""],
  ["a number", 12, "invalid_type", ""],
  ["no name", {}, "missing_required_parameter", "name"],
  ["a number for a name", { name: 123 }, "invalid_type", "name"],
  ["null for a name", { name: null }, "invalid_type", "name"],
  ["a list for a name", { name: ["lab"] }, "invalid_type", "name"],
  ["an empty name", { name: "" }, "invalid_type", "name"],
  ["a line feed in the name", { name: "lab\nlab" }, "invalid_type", "name"],
  ["a name of 129 characters", { name: "x".repeat(129) }, "field_too_large", "name"],
  [
    "a name that is 130 characters when it is normalised",
    { name: "\u0958".repeat(65) },
    "field_too_large",
    "name",
  ],
  ["a number for a password", { name: "lab", password: 1234 }, "invalid_type", "password"],
  ["an empty password", { name: "lab", password: "" }, "invalid_type", "password"],
  [
    "a password of 129 bytes",
    { name: "lab", password: "x".repeat(129) },
    "field_too_large",
    "password",
  ],
  [
    "a password of 65 two-byte letters",
    { name: "lab", password: "é".repeat(65) },
    "field_too_large",
    "password",
  ],
  ["__proto__", withKey("__proto__", '{"isAdmin":true}'), "invalid_type", "__proto__"],
  ["constructor", withKey("constructor", '{"prototype":{}}'), "invalid_type", "constructor"],
  ["prototype", withKey("prototype", "{}"), "invalid_type", "prototype"],
])("creating a room with %s is refused", (_title, body, code, param) => {
  expect(parseBody(CreateRoomRequest, body)).toMatchObject({ ok: false, code, param });
  expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined();
});

test.each([
  ["no id", { ...ada, id: undefined }, "missing_required_parameter", "id"],
  ["an agent id of another form", { ...ada, agentId: "x" }, "invalid_type", "agentId"],
  ["a short secret", { ...ada, machineSecret: "x" }, "invalid_type", "machineSecret"],
  [
    "a padded secret",
    { ...ada, machineSecret: `${"x".repeat(43)}=` },
    "invalid_type",
    "machineSecret",
  ],
  ["an id that is a number", { ...ada, id: 7 }, "invalid_type", "id"],
  ["a reserved id", { ...ada, id: "any" }, "invalid_id", "id"],
  ["an id with a slash", { ...ada, id: "a/b" }, "invalid_id", "id"],
  ["an id of 101 characters", { ...ada, id: "a".repeat(101) }, "invalid_id", "id"],
  ["an empty nickname", { ...ada, nickname: "" }, "invalid_nickname", "nickname"],
  [
    "a nickname of 65 characters",
    { ...ada, nickname: "x".repeat(65) },
    "invalid_nickname",
    "nickname",
  ],
  [
    "a nickname of 64 characters that are 128 when it is normalised",
    { ...ada, nickname: "\u0958".repeat(64) },
    "invalid_nickname",
    "nickname",
  ],
  [
    "a control character in the nickname",
    { ...ada, nickname: "A\u001bda" },
    "invalid_nickname",
    "nickname",
  ],
  ["no model", { ...ada, model: undefined }, "missing_required_parameter", "model"],
  ["a model of 257 characters", { ...ada, model: "x".repeat(257) }, "field_too_large", "model"],
  ["an endpoint that is a number", { ...ada, endpoint: 11434 }, "invalid_type", "endpoint"],
  [
    "an endpoint that is a file",
    { ...ada, endpoint: "file:///etc" },
    "invalid_endpoint",
    "endpoint",
  ],
  [
    "authHeaders that are text",
    { ...ada, authHeaders: "Bearer x" },
    "invalid_auth_header",
    "authHeaders",
  ],
  [
    "a header that is refused",
    { ...ada, authHeaders: { Host: "x" } },
    "invalid_auth_header",
    "authHeaders.Host",
  ],
  [
    "a header that is a number",
    { ...ada, authHeaders: { "x-key": 1 } },
    "invalid_auth_header",
    "authHeaders.x-key",
  ],
  ["specs that are a list", { ...ada, specs: [] }, "invalid_type", "specs"],
  ["config that is text", { ...ada, config: "hot" }, "invalid_type", "config"],
  ["capabilities that are a number", { ...ada, capabilities: 1 }, "invalid_type", "capabilities"],
  ["specs nested nine deep", { ...ada, specs: { deep: nested(8) } }, "field_too_large", "specs"],
  [
    "specs nested 20000 deep",
    { ...ada, specs: { deep: nested(20_000) } },
    "field_too_large",
    "specs",
  ],
  [
    "config of over 16 KiB",
    { ...ada, config: { x: "y".repeat(16_384) } },
    "field_too_large",
    "config",
  ],
  [
    "a member of over 16 KiB that is ignored",
    { ...ada, specs: { gpu: ["y".repeat(16_384)] } },
    "field_too_large",
    "specs",
  ],
  ["an unknown transport", { ...ada, transport: "pigeon" }, "invalid_type", "transport"],
])("joining with %s is refused", (_title, body, code, param) => {
  const sent = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
  expect(parseBody(JoinRequest, sent)).toMatchObject({ ok: false, code, param });
});

test("names at their limits are accepted", () => {
  const body = {
    id: "a".repeat(100),
    nickname: "n".repeat(LIMITS.nicknameLength.default),
    model: "m".repeat(LIMITS.modelLength.default),
    endpoint: ada.endpoint,
    password: "p".repeat(LIMITS.passwordBytes.default),
    specs: { deep: nested(7) },
    config: { x: "y".repeat(LIMITS.participantFieldBytes.default - '{"x":""}'.length) },
  };
  expect(parseBody(JoinRequest, body)).toMatchObject({ ok: true });
});

test("a model name is not normalised", () => {
  const model = "\u0958".repeat(LIMITS.modelLength.default);
  expect(parseBody(JoinRequest, { ...ada, model })).toMatchObject({ ok: true, value: { model } });
});

test("a join with only the four required fields is accepted", () => {
  expect(parseBody(JoinRequest, ada)).toEqual({ ok: true, value: ada });
});

test("unknown fields of a join are dropped, unknown keys inside specs, config and capabilities are kept", () => {
  const inside = {
    specs: { gpu: "M4", cores: [1, { two: 2 }] },
    config: { top_k: 40 },
    capabilities: { openResponses: "supported", vision: "yes" },
  };
  expect(parseBody(JoinRequest, { ...ada, ...inside, isAdmin: true })).toEqual({
    ok: true,
    value: { ...ada, ...inside },
  });
});

test.each([
  ["specs", "vram", "8 GB"],
  ["specs", "gpu", null],
  ["config", "max_tokens", 0.5],
  ["config", "maxConcurrency", 0],
  ["config", "seed", 1e300],
  ["config", "responses", "both"],
  ["capabilities", "openResponses", "maybe"],
  ["capabilities", "embeddings", true],
])("%s with a %s of %j counts as without it, and names it", (field, name, value) => {
  const sent = { ...ada, [field]: { [name]: value, other: [value] } };
  const parsed = parseBody(JoinRequest, sent);
  expect(parsed).toStrictEqual({ ok: true, value: { ...ada, [field]: { other: [value] } } });
  expect(ignoredMembers(sent, parsed.ok ? parsed.value : {})).toEqual([`${field}.${name}`]);
  expect(parseBody(UpdateParticipantRequest, { [field]: { [name]: value } })).toStrictEqual({
    ok: true,
    value: { [field]: {} },
  });
});

test("null for an optional field is accepted", () => {
  const nulls = {
    password: null,
    specs: null,
    config: null,
    capabilities: null,
    authHeaders: null,
  };
  expect(parseBody(JoinRequest, { ...ada, ...nulls })).toMatchObject({ ok: true });
  expect(parseBody(UpdateParticipantRequest, nulls)).toEqual({ ok: true, value: nulls });
  expect(parseBody(CreateRoomRequest, { name: "lab", password: null })).toMatchObject({ ok: true });
});

test("null for transport is refused", () => {
  const refusal = { ok: false, code: "invalid_type", param: "transport" };
  expect(parseBody(JoinRequest, { ...ada, transport: null })).toMatchObject(refusal);
  expect(parseBody(UpdateParticipantRequest, { transport: null })).toMatchObject(refusal);
});

test("an update may be empty or have any field, but a required field cannot be null", () => {
  expect(parseBody(UpdateParticipantRequest, {})).toEqual({ ok: true, value: {} });
  for (const [field, value] of Object.entries(ada)) {
    expect(parseBody(UpdateParticipantRequest, { [field]: value })).toMatchObject({ ok: true });
    expect(parseBody(UpdateParticipantRequest, { [field]: null })).toMatchObject({
      ok: false,
      code: "invalid_type",
      param: field,
    });
  }
});

test("a heartbeat needs an id", () => {
  expect(parseBody(HeartbeatRequest, {})).toMatchObject({
    code: "missing_required_parameter",
    param: "id",
  });
  expect(parseBody(HeartbeatRequest, { id: "ada" })).toEqual({ ok: true, value: { id: "ada" } });
});

test.each(["specs", "config", "capabilities"])(
  "a __proto__ inside %s changes no prototype",
  (field) => {
    const inner: unknown = JSON.parse(
      '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}',
    );
    const result = parseBody(JoinRequest, { ...ada, [field]: inner });
    expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined();
    if (!result.ok) return;
    const parsed = Reflect.get(result.value, field) as { isAdmin?: unknown };
    expect(parsed.isAdmin).toBeUndefined();
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
  },
);

test("a message contains names but never values", () => {
  const bodies = [
    { ...ada, password: ["swordfish"] },
    { ...ada, password: "swordfish".repeat(20) },
    { ...ada, authHeaders: { authorization: "swordfish\n" } },
    { ...ada, endpoint: "http://swordfish@127.0.0.1" },
    { ...ada, endpoint: "http://127.0.0.1/?key=swordfish" },
    { ...ada, transport: "swordfish" },
    { ...ada, capabilities: ["swordfish"] },
  ];
  for (const body of bodies) {
    const result = parseBody(JoinRequest, body);
    expect(result.ok).toBe(false);
    expect(JSON.stringify(result)).not.toContain("swordfish");
  }
});

test("a message about a field is short and printable even if the name of the field is not", () => {
  const name = `x\r\n\u001b[2J\u202e${"y".repeat(20_000)}`;
  const result = parseBody(JoinRequest, { ...ada, authHeaders: { [name]: "value" } });
  expect(result).toMatchObject({ ok: false, code: "invalid_auth_header" });
  const said = result.ok ? "" : result.message + result.param;
  expect(said).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
  expect(said.length).toBeLessThan(1_000);
});

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aParticipant } from "../../domain/room.fixture.ts";
import { storedRegistrationOf } from "../../domain/stored-registration.ts";
import { aRegistration } from "./registration.fixture.ts";
import { decodeRegistration, encodeRegistration } from "./registration.ts";

const facts = { hasAuthHeaders: false, computer: "0a0a", storedAt: 1 };

describe("a stored registration", () => {
  test("is read as it was written", () => {
    const full = aRegistration("AB23CD", "ada", {
      specs: { gpu: "H100", vram: 80, rack: { row: 7 } },
      config: { temperature: 0.5, responses: "native", house: "rule" },
      declaredCapabilities: { embeddings: "supported" },
      liveness: "probe",
      isStandIn: true,
      registrant: { address: undefined, hasOrigin: true, throttleKey: "forwarded" },
      clientKeyDigest: Buffer.alloc(32, 9),
      agentId: "5f9a4a3e-6d0f-4c3e-9f0a-0d6c8c6b7a11",
      run: { bootId: "5f9a4a3e-6d0f-4c3e-9f0a-0d6c8c6b7a12", joins: 3 },
      has: { authHeaders: true, instructions: true, machineSecret: true },
      ownerAddress: "10.0.0.7",
    });
    for (const each of [full, aRegistration("AB23CD", "bob")])
      expect(decodeRegistration(JSON.parse(encodeRegistration(each)) as object)).toEqual(each);
  });

  test("says that a participant had secrets", () => {
    const participant = aParticipant({
      id: "ada",
      config: { instructions: "be brief" },
      machineDigest: Buffer.alloc(32, 3),
    });
    const stored = storedRegistrationOf(participant, { ...facts, hasAuthHeaders: true });
    expect(stored.has).toEqual({ authHeaders: true, instructions: true, machineSecret: true });
    const bare = storedRegistrationOf(aParticipant({ id: "bob" }), facts);
    expect(bare.has).toEqual({ authHeaders: false, instructions: false, machineSecret: false });
  });

  test("holds no secret, whatever the participant and the object hold", () => {
    // Longer than anything that a registration repeats by chance.
    const secret = fc.base64String({ minLength: 24, maxLength: 60 }).filter((text) => text !== "");
    fc.assert(
      fc.property(secret, fc.uint8Array({ minLength: 32, maxLength: 32 }), (text, machine) => {
        const participant = aParticipant({
          id: "ada",
          config: { temperature: 1, instructions: text },
          machineDigest: machine,
        });
        const stored = storedRegistrationOf(participant, { ...facts, hasAuthHeaders: true });
        const written = [
          encodeRegistration(stored),
          // As a caller may widen it by mistake.
          encodeRegistration({
            ...{ ...participant, authHeaders: { authorization: text }, machineSecret: text },
            ...{ ...stored, config: { ...stored.config, instructions: text } },
            registrant: { ...stored.registrant, ...{ password: text } },
            has: { ...stored.has, ...{ value: text } },
          }),
        ];
        for (const each of written) {
          expect(each).not.toContain(text);
          expect(each).not.toContain(Buffer.from(machine).toString("base64"));
          expect(each).not.toContain(Buffer.from(machine).toString("hex"));
        }
        expect(written[1]).toBe(written[0]);
      }),
    );
  });

  test("is read without instructions that another hand put there", () => {
    const stored = JSON.parse(encodeRegistration(aRegistration("AB23CD", "ada"))) as {
      config: object;
    };
    const read = decodeRegistration({ ...stored, config: { instructions: "be brief", seed: 1 } });
    expect(read.config).toEqual({ seed: 1 });
  });

  test.each([
    ["version", 2],
    ["id", 7],
    ["baseUrl", "nowhere"],
    ["tokenDigest", "swordfish"],
    ["has", { authHeaders: true }],
    ["registrant", {}],
    ["config", "all"],
    ["storedAt", undefined],
  ])("is refused when its %s is not valid, without repeating it", (field, value) => {
    const stored = JSON.parse(encodeRegistration(aRegistration("AB23CD", "ada"))) as object;
    const decode = () => decodeRegistration({ ...stored, [field]: value });
    expect(decode).toThrow(new RegExp(`^${field}.* is not valid$`));
    expect(decode).not.toThrow(/swordfish/);
  });
});

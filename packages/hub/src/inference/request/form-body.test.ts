import { array, assert, boolean, integer, property } from "fast-check";
import { expect, test } from "vitest";
import {
  propertyRuns,
  propertyTimeoutMs,
  SEEDS,
} from "../../../../../tests/support/property-runs.ts";
import { HubError } from "../../errors.ts";
import { cutBy, everyCut } from "../stream/cuts.fixture.ts";
import { FormBodyReader } from "./form-body.ts";
import { bodyForProvider } from "./provider-body.ts";

const options = { model: "its-own", config: {}, requestsUsage: false };
const surface = { path: "audio/transcriptions" };
const part = (name: string, value: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file = part('file"; filename="a.wav', "RIFF\r\n--\r\r\n--a");
const whole = Buffer.from(`${part("language", "en")}${part("model", "m")}${file}--b--\r\n`);

/** What a participant gets of a form that is sent on as soon as its model is known, and how that ends. */
function stream(chunks: readonly Buffer[], length: string | undefined, maxHeldBytes = 1_000) {
  const sent: Buffer[] = [];
  let isBegun = false;
  try {
    const reader = new FormBodyReader("multipart/form-data; boundary=b", length, maxHeldBytes);
    for (const chunk of chunks) {
      reader.push(chunk);
      if (isBegun) sent.push(chunk);
      else if (reader.isAddressed) {
        isBegun = true;
        sent.push(...bodyForProvider(reader.begin().body, surface, options));
      }
    }
    const body = reader.end();
    if (!isBegun) sent.push(...bodyForProvider(body, surface, options));
    return { sent: Buffer.concat(sent).toString("latin1"), end: "whole" };
  } catch (error) {
    if (!(error instanceof HubError)) throw error;
    return { sent: Buffer.concat(sent).toString("latin1"), end: `${error.status} ${error.code}` };
  }
}

const expected = whole.toString("latin1").replace("\r\n\r\nm\r\n", "\r\n\r\nits-own\r\n");

test("a form that is sent on while it comes has its model replaced, in any cut", () => {
  for (const chunks of everyCut(whole)) {
    expect(stream(chunks, undefined)).toEqual({ sent: expected, end: "whole" });
  }
});

test("the end of a form whose length is known leaves only when nothing is wrong with it", () => {
  const cut = whole.subarray(0, -5);
  for (const chunks of everyCut(cut)) {
    const { sent, end } = stream(chunks, String(cut.length));
    expect(end).toBe("400 invalid_form");
    expect(sent.length).toBeLessThan(cut.length - "m".length + "its-own".length);
  }
});

test("a model has to end within what is held", () => {
  const end = whole.indexOf("m\r\n--b", whole.indexOf('"model"')) + 1;
  for (const chunks of everyCut(whole)) {
    expect(stream(chunks, undefined, end).end).toBe("whole");
    expect(stream(chunks, undefined, end - 1)).toEqual({ sent: "", end: "400 model_part_late" });
  }
});

test.each(SEEDS)(
  "a mutated form ends the same in every cut, and nothing but its model is changed, with seed %d",
  (seed) => {
    assert(
      property(
        array(integer({ min: 0, max: whole.length - 1 }), { minLength: 1, maxLength: 3 }),
        integer({ min: 0, max: 255 }),
        array(integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
        boolean(),
        (places, byte, lengths, isAnnounced) => {
          const mutated = Buffer.from(whole);
          for (const at of places) mutated[at] = byte;
          const length = isAnnounced ? String(mutated.length) : undefined;
          const atOnce = stream([mutated], length);
          const inPieces = stream(cutBy(mutated, lengths), length);
          expect(inPieces.end).toBe(atOnce.end);
          if (atOnce.end === "whole") expect(inPieces).toEqual(atOnce);
        },
      ),
      propertyRuns(seed, 10_000),
    );
  },
  propertyTimeoutMs,
);

import { array, assert, boolean, constantFrom, nat, property, record, string } from "fast-check";
import { expect, test } from "vitest";
import {
  ResponseScrubber,
  type ResponseSecrets,
  responseSecretsOf,
  scrubHeaders,
} from "./response-scrubber.ts";
import { minSecretLength, secretForms } from "./secret-forms.ts";

const secret = "canary-0042";
const stars = "*".repeat(secret.length);

type Kind = keyof ResponseSecrets;
type SecretBytes = NonNullable<ResponseSecrets[Kind]>;

function bytesOf(values: readonly string[], kind: Kind = "inResponses"): SecretBytes {
  const headers = values.map((value, index) => [`x-key-${index}`, value]);
  const secrets = responseSecretsOf(Object.fromEntries(headers) as Record<string, string>)[kind];
  if (secrets === undefined) throw new Error("no secret in these");
  return secrets;
}

/** What leaves of a response that comes in these chunks and is then whole. */
function scrub(chunks: readonly Buffer[], secrets: SecretBytes): Buffer {
  const scrubber = new ResponseScrubber(secrets);
  return Buffer.concat([...chunks.map((chunk) => scrubber.push(chunk)), scrubber.end()]);
}

function scrubText(text: string, kind: Kind = "inResponses", ...values: string[]): string {
  return scrub([Buffer.from(text)], bytesOf([secret, ...values], kind)).toString();
}

test("headers without a secret leave nothing to scrub", () => {
  for (const value of ["", "1", "true"]) {
    expect(responseSecretsOf({ "x-key": value, accept: value })).toEqual({
      inErrors: undefined,
      inResponses: undefined,
    });
  }
});

test("what a model may say itself is no secret of its responses: other headers, and short values", () => {
  const headers = {
    "anthropic-version": "2023-06-01",
    "http-referer": "https://example.com",
    "x-api-key": "ollama!",
  };
  const { inErrors, inResponses } = responseSecretsOf(headers);
  expect(inResponses).toBeUndefined();
  const text = Buffer.from(Object.values(headers).join(" "));
  expect(scrub([text], inErrors!).toString()).toMatch(/^[* ]+$/);
});

test("every byte of a secret becomes a star, as often as it is there, and nothing else changes", () => {
  expect(scrubText(`${secret}, "${secret}" ${secret}${secret}.`)).toBe(
    `${stars}, "${stars}" ${stars}${stars}.`,
  );
});

test("of secrets that overlap every byte goes, also where one ends that begins within another", () => {
  expect(
    scrubText("a canary-0042-and-more b", "inResponses", "0042-and-more", "canary-0042-and"),
  ).toBe(`a ${"*".repeat("canary-0042-and-more".length)} b`);
  expect(scrubText("abcabcabcabcX", "inResponses", "abcabcabc")).toBe("************X");
});

test("a secret beyond ASCII is found as UTF-8 and as the Latin-1 of headers", () => {
  const secrets = bytesOf(["clé-canary"]);
  for (const encoding of ["utf8", "latin1"] as const) {
    const body = Buffer.from("é clé-canary é", encoding);
    const around = Buffer.from("é ", encoding).length;
    const covered = Buffer.from(body).fill("*", around, body.length - around);
    expect(scrub([body], secrets)).toEqual(covered);
  }
});

test("a chunk with nothing to overwrite goes on itself, and one with a secret stays as it was", () => {
  const scrubber = new ResponseScrubber(bytesOf([secret]));
  const plain = Buffer.from("data: hello\n\n");
  expect(scrubber.push(plain)).toBe(plain);
  const holding = Buffer.from(`data: ${secret}\n\n`);
  expect(scrubber.push(holding).toString()).toBe(`data: ${stars}\n\n`);
  expect(holding.toString()).toBe(`data: ${secret}\n\n`);
});

test("an end that may be a secret's beginning waits until it is clear what it is", () => {
  const scrubber = new ResponseScrubber(bytesOf([secret]));
  const push = (text: string) => scrubber.push(Buffer.from(text)).toString();
  expect(push("a canary")).toBe("a ");
  expect(push("-00")).toBe("");
  expect(push("43 ca")).toBe("canary-0043 ");
  expect(push("nary-0042c")).toBe(stars);
  expect(scrubber.end().toString()).toBe("c");
});

test("what waits at the end of a whole response is innocent", () => {
  expect(scrubText("a canary-004")).toBe("a canary-004");
});

test.each([
  ["canary-004", "**********"],
  ["canary-0", "********"],
  ["canary-", "canary-"],
  ["done", "done"],
])("a response that breaks off in %j ends in %j", (end, left) => {
  const scrubber = new ResponseScrubber(bytesOf([secret]));
  const begun = scrubber.push(Buffer.from(`a ${end}`));
  expect(Buffer.concat([begun, scrubber.breakOff()]).toString()).toBe(`a ${left}`);
});

test("in an error whatever looks like an OpenAI key goes too; in a response it stays", () => {
  const text = "bad key sk-proj_AbCd-1234, risk-free";
  expect(scrubText(text, "inErrors")).toBe("bad key *****************, risk-free");
  expect(scrubText(text)).toBe(text);
});

test("names and values of headers are scrubbed, and nothing is lost of those that begin like a secret", () => {
  const headers = {
    "content-type": `text/plain; key=${secret}`,
    [`x-ratelimit-${secret}`]: "1",
    "retry-after": "canary",
  };
  expect(scrubHeaders(headers, bytesOf([secret]))).toEqual({
    "content-type": `text/plain; key=${stars}`,
    [`x-ratelimit-${stars}`]: "1",
    "retry-after": "canary",
  });
});

/** Few characters, so that secrets begin like one another, within one another and twice in a row. */
const wild = string({ unit: constantFrom("a", "b", "/", '"', "é"), minLength: 8, maxLength: 11 });
const headerValues = array(
  record({ scheme: constantFrom("", "Bearer "), key: wild }).map(({ scheme, key }) => scheme + key),
  { minLength: 1, maxLength: 3 },
);
/** Text, and whole forms of the secrets or their beginnings, in either encoding. */
const parts = array(
  record({
    text: string({ unit: constantFrom("a", "b", "/", '"', "é", "\n"), maxLength: 4 }),
    form: nat(),
    isWhole: boolean(),
    length: nat(20),
    encoding: constantFrom("utf8" as const, "latin1" as const),
  }),
  { maxLength: 12 },
);
const cuts = array(nat(), { maxLength: 20 });

test("whatever the secrets, the response and the cuts: no secret leaves, no length changes, and no other byte", () => {
  assert(
    property(headerValues, parts, cuts, (values, body, at) => {
      const forms = secretForms(values, minSecretLength.inResponses);
      const bytes = Buffer.concat(body.map((part) => written(part, forms)));
      const left = scrub(cutAt(bytes, at), bytesOf(values));
      expect(left).toEqual(overwrittenByHand(bytes, forms));
      for (const form of forms.flatMap(inBothEncodings)) expect(left.includes(form)).toBe(false);
    }),
    { numRuns: 2_000 },
  );
});

test("whatever the cuts, the same leaves of an error", () => {
  const words = constantFrom(secret, "sk-", "k-proj", "s", "AbCd1234", "-", " ", "canary-00");
  const error = array(words, { maxLength: 20 }).map((pieces) => Buffer.from(pieces.join("")));
  assert(
    property(error, cuts, (bytes, at) => {
      const secrets = bytesOf([secret], "inErrors");
      expect(scrub(cutAt(bytes, at), secrets)).toEqual(scrub([bytes], secrets));
    }),
  );
});

test("cut at every byte, a secret goes and its neighbours stay", () => {
  const body = Buffer.from(`{"error":"${secret} canary"}`);
  for (let at = 0; at <= body.length; at++) {
    const left = scrub([body.subarray(0, at), body.subarray(at)], bytesOf([secret]));
    expect(left.toString()).toBe(`{"error":"${stars} canary"}`);
  }
});

function written(
  part: { text: string; form: number; isWhole: boolean; length: number; encoding: BufferEncoding },
  forms: readonly string[],
): Buffer {
  const form = forms[part.form % forms.length] ?? "";
  const pieces = part.isWhole ? form : form.slice(0, part.length);
  return Buffer.from(part.text + pieces, part.encoding);
}

function cutAt(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = at.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b);
  return [...places, bytes.length].map((to, index) => bytes.subarray(places[index - 1] ?? 0, to));
}

function overwrittenByHand(bytes: Buffer, forms: readonly string[]): Buffer {
  const left = Buffer.from(bytes);
  for (const form of forms.flatMap(inBothEncodings)) {
    for (let at = 0; at + form.length <= bytes.length; at++) {
      const to = at + form.length;
      if (bytes.subarray(at, to).equals(form)) left.fill("*", at, to);
    }
  }
  return left;
}

function inBothEncodings(form: string): Buffer[] {
  return [Buffer.from(form, "utf8"), Buffer.from(form, "latin1")];
}

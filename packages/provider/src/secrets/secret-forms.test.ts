import { expect, test } from "vitest";
import { credentialsIn, secretForms } from "./secret-forms.ts";

test.each([
  ["a value", "  canary-0042 ", ["canary-0042"]],
  ["behind a scheme the key alone", "bearer  canary-0042", ["canary-0042"]],
  ["a key too short to count with its scheme", "Bearer ollama", ["Bearer ollama"]],
  ["Basic credentials and their password", ...basic("ana:swordfish-5", "swordfish-5")],
  ["Basic credentials and a user without password", ...basic("canary-0042:", "canary-0042")],
  ["Basic credentials decoded, their password being short", ...basic("anastasia:xy")],
])("a header's secret is %s", (_what, value, expected) => {
  expect(secretForms([value], 8).toSorted()).toEqual(expected.toSorted());
});

function basic(pair: string, inside = pair): [value: string, secrets: string[]] {
  const encoded = Buffer.from(pair).toString("base64");
  return [`Basic ${encoded}`, [encoded, inside]];
}

test.each([6, 8])("what is shorter than %i characters is no secret", (minLength) => {
  const digits = "123456789";
  const short = digits.slice(0, minLength - 1);
  expect(secretForms(["1", "true", "", short], minLength)).toEqual([]);
  const long = digits.slice(0, minLength);
  expect(secretForms([long], minLength)).toEqual([long]);
});

test("a credential is known by its header's name", () => {
  const credentials = [
    ...["Authorization", "x-api-key", "api-key", "Ocp-Apim-Subscription-Key", "cookie"],
    ...["cf-access-client-secret", "x-auth", "x-session-id", "x-password", "x-amz-signature"],
  ];
  const others = ["anthropic-version", "openai-organization", "http-referer", "x-title", "accept"];
  const headers = Object.fromEntries([...credentials, ...others].map((name) => [name, name]));
  expect(credentialsIn(headers)).toEqual(credentials);
});

test.each([
  ["as JSON must", 'q"uote\\d-42', String.raw`q\"uote\\d-42`],
  ["as Python does", "clé-canary", String.raw`cl\u00e9-canary`],
  ["as PHP does", "a/b/é+canary", String.raw`a\/b\/\u00e9+canary`],
  ["as PHP does that leaves Unicode", "a/b/é+canary", String.raw`a\/b\/é+canary`],
  ["as Go does", "a<b>&canary", String.raw`a\u003cb\u003e\u0026canary`],
  ["as Gson does", "a<b+canary=", String.raw`a\u003cb+canary\u003d`],
  ["as .NET does", 'a"\\+é/canary=', String.raw`a\u0022\\\u002B\u00E9/canary=`],
])("a secret counts as it is, and escaped %s", (_who, secret, escaped) => {
  const forms = secretForms([secret], 8);
  expect(forms).toContain(secret);
  expect(forms).toContain(escaped);
});

test("the longest form is first, and none is there twice", () => {
  const forms = secretForms(["canary-0042", "Bearer canary-0042", "a longer canary-0042"], 8);
  expect(forms).toEqual(["a longer canary-0042", "canary-0042"]);
});

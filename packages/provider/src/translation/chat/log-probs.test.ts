import { expect, test } from "vitest";
import { readLogProbs } from "./chat-choice.ts";

test("a token has all keys, its bytes filled in where chat says null", () => {
  const content = [
    {
      token: "é",
      logprob: -0.1,
      bytes: null,
      top_logprobs: [
        { token: "e", logprob: -2, bytes: [101] },
        { token: "ß", logprob: -3 },
      ],
    },
    { token: "x", logprob: 0, bytes: [120] },
  ];
  expect(readLogProbs(content)).toEqual([
    {
      token: "é",
      logprob: -0.1,
      bytes: [195, 169],
      top_logprobs: [
        { token: "e", logprob: -2, bytes: [101] },
        { token: "ß", logprob: -3, bytes: [195, 159] },
      ],
    },
    { token: "x", logprob: 0, bytes: [120], top_logprobs: [] },
  ]);
});

test.each([[undefined], [null], [{}], [[null, 7, {}, { token: "a" }, { token: 1, logprob: 1 }]]])(
  "%j holds no token",
  (content) => {
    expect(readLogProbs(content)).toEqual([]);
  },
);

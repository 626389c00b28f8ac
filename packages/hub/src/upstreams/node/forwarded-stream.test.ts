import { RESET_CODES, type IncomingRequest, type Responder } from "@roomhub/tunnel";
import { expect, test } from "vitest";
import type { ForwardedRequest } from "../../inference/forwarding/forwarded-request.ts";
import { aRequest, aTarget, clientHub, someFacts } from "./forward.fixture.ts";
import { ForwardHeads } from "./forward-head.ts";
import { serveStream } from "./forwarded-stream.ts";
import { writePreamble } from "./preamble.ts";

/** What arrives with the head of a request whose body begins with `text`. */
function serve(body: Buffer) {
  const story: string[] = [];
  const responder = {
    reset: (code: number, reason: string) => void story.push(`reset ${code} ${reason}`),
    end: () => void story.push("end"),
  } as unknown as Responder;
  const head = new ForwardHeads().headOf(aRequest, someFacts, aTarget);
  const incoming: IncomingRequest = { head, body, end: false, responder };
  const served: ForwardedRequest[] = [];
  const handler = serveStream(incoming, clientHub, (forwarded) => {
    served.push(forwarded);
    return {
      onBody: (chunk) => story.push(`body ${chunk.toString()}`) > 0,
      onBodyEnd: () => void story.push("body end"),
      onCancel: (reason) => void story.push(`cancel: ${reason}`),
      onDrain() {},
    };
  });
  return { handler, story, served };
}

const preamble = writePreamble(aRequest, someFacts) ?? Buffer.alloc(0);

test("what is behind the preamble is the body", () => {
  const { handler, story, served } = serve(Buffer.concat([preamble, Buffer.from("{}")]));
  handler.onBody(Buffer.from("more"));
  handler.onBodyEnd();
  expect(served).toMatchObject([
    { from: clientHub, target: aTarget, requestId: "req_1", hops: ["0000000e"] },
  ]);
  expect(story).toEqual(["body {}", "body more", "body end"]);
});

test("a request without its whole preamble is not served", () => {
  const { story, served } = serve(preamble.subarray(0, -1));
  expect(served).toEqual([]);
  expect(story).toEqual([expect.stringMatching(/^reset 8 peer_unavailable /)]);
});

test("a cancel says why: the other hub's reason, or that its link was lost", () => {
  const { handler, story } = serve(preamble);
  handler.onReset(RESET_CODES.cancelled, "the client has gone");
  expect(story).toEqual(["cancel: the client has gone"]);
  const other = serve(preamble);
  other.handler.onReset(RESET_CODES.tunnelLost, "tunnel closed: 1006");
  expect(other.story).toEqual(["cancel: the link to the hub that has the client was lost"]);
});

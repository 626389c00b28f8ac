import OpenAI from "openai";
import { startDoor } from "../../support/hub/start-door.ts";
import { pinOf, testCertificate } from "../../support/hub/test-certificate.ts";
import { ANY_KEY, type Target } from "../client.ts";
import { describeClient } from "../describe-client.ts";
import { startCompatWorld } from "../setups.ts";
import { chatOperations, responsesOperations } from "./openai-operations.ts";

function connect({ baseUrl, fetch }: Target): OpenAI {
  return new OpenAI({ baseURL: baseUrl, apiKey: ANY_KEY, fetch });
}

/** A door to each room, whose hub has a certificate of its own. */
function startWorld() {
  const pair = testCertificate({ names: ["roomhub"] });
  const pin = pinOf(pair);
  return startCompatWorld(
    (hubUrl, stack) => async (code) => {
      const sealedUrl = hubUrl.replace("http:", "https:");
      const door = stack.use(await startDoor(sealedUrl, code, { pin, key: ANY_KEY }));
      return door.url.replace("/v1", "");
    },
    { tls: pair },
  );
}

describeClient(
  { name: "openai, chat, through a door", speaks: "chat", does: chatOperations(connect) },
  startWorld,
);

describeClient(
  {
    name: "openai, responses, through a door",
    speaks: "responses",
    does: responsesOperations(connect),
  },
  startWorld,
);

import { pause, systemWorld } from "@roomhub/protocol";
import { seededRandom } from "../bench/room/random.ts";
import { joinTunnel } from "../tests/support/hub/joining.ts";
import { startTestHub } from "../tests/support/hub/start-test-hub.ts";
import { startFakeProvider } from "../tests/support/providers/fake-provider.ts";

/** A hub with a room in which requests come and go until it is disposed of. */
export interface LivelyRoom extends AsyncDisposable {
  hubUrl: string;
  code: string;
}

const machines = [
  {
    id: "ana-qwen3-32b",
    nickname: "Ana",
    model: "qwen3:32b",
    gpu: "RTX 4090",
    vram: 24,
    slots: 4,
    tokenMs: 22,
  },
  {
    id: "ben-llama3.2",
    nickname: "Ben",
    model: "llama3.2:3b",
    gpu: "Apple M3 Pro",
    vram: 18,
    slots: 1,
    tokenMs: 30,
  },
  {
    id: "carla-gpt-oss-20b",
    nickname: "Carla",
    model: "gpt-oss:20b",
    gpu: "RX 7900 XTX",
    vram: 24,
    slots: 2,
    tokenMs: 26,
  },
  {
    id: "lab-llama3.3-70b",
    nickname: "Lab server",
    model: "llama3.3:70b",
    gpu: "2 × A6000",
    vram: 96,
    slots: 8,
    tokenMs: 45,
  },
];
const people = ["ana", "ben", "carla", "dana"];
const streamed = { stream: true, stream_options: { include_usage: true } };
const texts = "The hub relays requests and responses and counts tokens while they pass by "
  .repeat(20)
  .split(" ");

/** Piece by piece, as a model writes. */
const advice = `Two commands do that, one to measure and one to sort:

\`\`\`sh
find ~/Downloads -type f -printf '%s %p\\n' | sort -rn | head -20
\`\`\`

1. \`find\` prints the **size in bytes** and the path of each file.
2. \`sort -rn\` puts the largest first, and \`head\` keeps twenty.

On macOS, \`find\` has no \`-printf\`: use \`stat -f '%z %N'\` instead.`.split(/(?<= )/);

export async function startLivelyRoom(): Promise<LivelyRoom> {
  await using stack = new AsyncDisposableStack();
  const random = seededRandom(5);
  const hub = stack.use(await startTestHub());
  const { room } = await hub.client.createRoom({ name: "Study group" });
  for (const { id, nickname, model, gpu, vram, slots, tokenMs } of machines) {
    const provider = stack.use(
      await startFakeProvider({
        model,
        behave: ({ json }) => {
          if (json["user"] === "cut") return { kind: "cut", afterChunks: 3, reset: true };
          // The page's own chat names no user.
          const pieces = json["user"] === undefined ? advice : words(random);
          return { kind: "normal", chunkDelayMs: tokenMs, pieces };
        },
      }),
    );
    const about = { id, nickname, model, specs: { gpu, vram }, config: { maxConcurrency: slots } };
    stack.use(await joinTunnel(hub, room.code, { endpoint: provider.url, ...about }));
  }
  const stop = new AbortController();
  const clients = people.map((person, index) =>
    converse(hub.url, { code: room.code, person, index, random, signal: stop.signal }),
  );
  const all = stack.move();
  return {
    hubUrl: hub.url,
    code: room.code,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(clients);
      await all.disposeAsync();
    },
  };
}

interface Conversation {
  code: string;
  person: string;
  index: number;
  random: () => number;
  signal: AbortSignal;
}

/** Requests of one person, two at a time, each after a pause; the second person's third one fails. */
async function converse(hubUrl: string, { code, person, index, random, signal }: Conversation) {
  const side = async (which: number) => {
    for (let turn = 0; !signal.aborted; turn++) {
      const own = machines[(index + which * turn) % machines.length];
      const model = random() < 0.5 ? "*" : (own?.model ?? "*");
      const user = index === 1 && which === 1 && turn === 2 ? "cut" : `notes-${which}`;
      const messages = [{ role: "user", content: `Question ${turn}` }];
      try {
        const response = await fetch(`${hubUrl}/rooms/${code}/v1/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer as-${person}`, "content-type": "application/json" },
          body: JSON.stringify({ model, user, messages, ...streamed }),
          signal,
        });
        await response.text();
      } catch {
        // A response that is cut, on purpose, or the end of the script.
      }
      await pause(systemWorld, 500 + random() * 3_000, signal);
    }
  };
  await Promise.all([side(0), side(1)]);
}

function words(random: () => number): string[] {
  return texts.slice(0, 30 + Math.floor(random() * 120)).map((word) => `${word} `);
}

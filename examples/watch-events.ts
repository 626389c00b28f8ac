// Prints one line per event of a room, until Ctrl+C. Waits for a hub that restarts.
//   node --conditions=@roomhub/source examples/watch-events.ts http://127.0.0.1:5050/rooms/ABC234
import { openRoom } from "@roomhub/client";

const [invite = ""] = process.argv.slice(2);

const room = await openRoom(invite);
const stopping = new AbortController();
process.once("SIGINT", () => stopping.abort());

const events = room.events({
  signal: stopping.signal,
  onOpen: () => print(`watching ${room.name}`),
  onDisconnect: (reason, retryInMs) => print(`${reason}; again in ${retryInMs} ms`),
});
for await (const event of events) {
  switch (event.type) {
    case "participant.joined":
      print(`${event.participant.nickname} brings ${event.participant.model}`);
      break;
    case "participant.left":
    case "participant.offline":
      print(`${event.nickname} is no longer available`);
      break;
    case "llm.complete": {
      const { ttftMs, durationMs, outputTokens = "?" } = event.metrics;
      print(`${event.model}: ${outputTokens} tokens, first after ${ttftMs} of ${durationMs} ms`);
      break;
    }
    case "llm.error":
      print(`${event.model ?? "no model"}: ${event.error} (${event.code})`);
      break;
    default: // room.created, participant.updated, llm.request
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

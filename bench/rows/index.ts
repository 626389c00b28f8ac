import type { Row } from "../row.ts";
import { burst } from "./delay/burst.ts";
import { bodyScan } from "./body-scan.ts";
import { doorCost } from "./door.ts";
import { directPath } from "./direct-path.ts";
import { eventSubscribers } from "./event-subscribers.ts";
import { firstToken } from "./delay/first-token.ts";
import { flatCost } from "./flat-cost.ts";
import { flatOutStreams } from "./flat-out-streams.ts";
import { interTokenDelay } from "./delay/inter-token-delay.ts";
import { jsonAgainstGateway } from "./json-against-gateway.ts";
import { jsonAgainstNginx } from "./json-against-nginx.ts";
import { idleRoom } from "./memory/idle-room.ts";
import { largeBodies } from "./memory/large-bodies.ts";
import { largeMessages } from "./large-messages.ts";
import { loneFirstToken } from "./delay/lone-first-token.ts";
import { loneRequest } from "./lone-request.ts";
import { longPrompts } from "./long-prompts.ts";
import { memoryPerParticipant } from "./memory/memory-per-participant.ts";
import { memoryPerStream } from "./memory/memory-per-stream.ts";
import { oneAtATime } from "./delay/one-at-a-time.ts";
import { pacedStreamCost } from "./paced-streams.ts";
import { sixParticipants } from "./six-participants.ts";
import { startAndIdle } from "./memory/start-and-idle.ts";
import { tables } from "./tables.ts";
import { tlsCost } from "./tls.ts";
import { thousandStreams } from "./memory/thousand-streams.ts";
import { messagesTranslation, translation } from "./translation.ts";
import { tunnelBytes } from "./tunnel-bytes.ts";
import { uploads } from "./uploads.ts";

/** In the order of the goals. */
export const rows: readonly Row[] = [
  jsonAgainstNginx,
  jsonAgainstGateway,
  pacedStreamCost,
  flatOutStreams,
  firstToken,
  interTokenDelay,
  oneAtATime,
  thousandStreams,
  memoryPerStream,
  memoryPerParticipant,
  largeBodies,
  flatCost,
  eventSubscribers,
  directPath,
  startAndIdle,
  tunnelBytes,
  translation,
  messagesTranslation,
  bodyScan,
  tables,
  loneRequest,
  sixParticipants,
  longPrompts,
  largeMessages,
  burst,
  idleRoom,
  loneFirstToken,
  uploads,
  doorCost,
  tlsCost,
];

import type { History } from "../history.ts";
import { acknowledgedIsThere } from "./acknowledged.ts";
import { anotherServes, silenceIsNoticed } from "./agents.ts";
import { batchesComeLast, batchesLeaveSlots } from "./batches.ts";
import { budgetsAreKept, refusalsAreTrue } from "./budgets.ts";
import { bytesAreTheServers, promptsAreTheClients } from "./bytes.ts";
import { contextsCount, promptsGoWhereTheyFit } from "./contexts.ts";
import { eventsInOneOrder, handOversContinueStreams, watchersKnowWhatIsListed } from "./events.ts";
import { figuresAreTrue } from "./figures.ts";
import { lostRequestsEnd, otherHubsGoOn, stoppingLetsFinish } from "./ends-of-hubs.ts";
import { everyRequestEndsOnce } from "./ends.ts";
import { everyHubServes, everythingRecovered } from "./recovery.ts";
import { nothingWasThrown } from "./bugs.ts";
import {
  leavingCancels,
  noStreamJustCloses,
  nothingWaitsBesideAFreeSlot,
  whatIsServedIsWhole,
} from "./service.ts";
import { badResponsesStayWhereTheyAre } from "./bad-responses.ts";
import { memoryStays } from "./memory.ts";
import { noTunnelIsLost, tunnelsGoOn } from "./resume.ts";
import { secretsAreKept } from "./secrets.ts";
import { selectorsAreKept } from "./selectors.ts";
import { nothingSpins } from "./spinning.ts";
import { slotsAreKept } from "./slots.ts";
import {
  nothingWaitsBesideASlowReader,
  slowReadersSlowTheirServers,
  stalledClientsAreDisconnected,
} from "./slow-readers.ts";
import { theRefusedComeFirst, turnsAreKept } from "./turns.ts";

/** What must hold of every history: each returns what does not, in words. */
export const checkers: Readonly<Record<string, (history: History) => string[]>> = {
  "every request ends once": everyRequestEndsOnce,
  "bytes are the model server's": bytesAreTheServers,
  "prompts are the client's": promptsAreTheClients,
  "events come in one order": eventsInOneOrder,
  "watchers know what is listed": watchersKnowWhatIsListed,
  "hand-overs continue streams": handOversContinueStreams,
  "figures are true": figuresAreTrue,
  "slots are kept": slotsAreKept,
  "selectors are kept": selectorsAreKept,
  "secrets are kept": secretsAreKept,
  "what is served is whole": whatIsServedIsWhole,
  "nothing waits beside a free slot": nothingWaitsBesideAFreeSlot,
  "turns are kept": turnsAreKept,
  "the refused come first": theRefusedComeFirst,
  "batches come last": batchesComeLast,
  "batches leave slots": batchesLeaveSlots,
  "budgets are kept": budgetsAreKept,
  "refusals for a budget are true": refusalsAreTrue,
  "prompts go where they fit": promptsGoWhereTheyFit,
  "contexts count": contextsCount,
  "no stream just closes": noStreamJustCloses,
  "leaving cancels": leavingCancels,
  "slow readers slow their servers": slowReadersSlowTheirServers,
  "nothing waits beside a slow reader": nothingWaitsBesideASlowReader,
  "stalled clients are disconnected": stalledClientsAreDisconnected,
  "what was confirmed is there": acknowledgedIsThere,
  "everything recovers": everythingRecovered,
  "every hub serves again": everyHubServes,
  "other hubs go on": otherHubsGoOn,
  "what is lost has an end": lostRequestsEnd,
  "stopping lets finish": stoppingLetsFinish,
  "tunnels go on": tunnelsGoOn,
  "no tunnel is lost": noTunnelIsLost,
  "silence is noticed": silenceIsNoticed,
  "another one serves": anotherServes,
  "bad responses stay where they are": badResponsesStayWhereTheyAre,
  "memory stays until it has left": memoryStays,
  "nothing spins": nothingSpins,
  "nothing is thrown": nothingWasThrown,
};

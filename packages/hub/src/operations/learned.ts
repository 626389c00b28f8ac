import {
  type CapabilityValue,
  Features,
  type MeasuredFeatures,
  ModelContext,
} from "@roomhub/protocol";
import { noteRefusedContext, updateFacts } from "../domain/needs/model-facts.ts";
import type { ReportedFacts } from "../domain/path-reports.ts";
import { updateLimit } from "../domain/slots.ts";
import { capabilitiesOf, type Participant, type ReportedLoad } from "../domain/participant.ts";
import type { OperationContext, Peer } from "./context.ts";
import { requireHost } from "./ownership.ts";
import { announceUpdate, wakeRooms } from "./presence.ts";

/** Far more than there are surfaces: a participant must not grow its entry in every listing. */
const maxCapabilities = 64;

/** Merges what is learned of a model server's capabilities. What the participant declared stays as declared. */
export function takeCapabilities(
  participant: Participant,
  learned: Readonly<Record<string, string>>,
): void {
  const names = new Set(Object.keys(participant.learned.capabilities));
  for (const [name, value] of Object.entries(learned)) {
    if (!isCapability(name, value)) continue;
    if (!names.has(name) && names.size >= maxCapabilities) continue;
    names.add(name);
    participant.learned.found[name] = value;
  }
  participant.learned.capabilities = capabilitiesOf(
    participant.declaredCapabilities,
    participant.learned.found,
  );
}

function isCapability(name: string, value: string): value is CapabilityValue {
  return (
    /^[A-Za-z][A-Za-z0-9]{0,39}$/.test(name) &&
    (value === "supported" || value === "unsupported" || value === "unknown")
  );
}

/** A model server reported how many requests it runs at once, to its agent or to the hub. */
export function takeLoad(
  context: OperationContext,
  participant: Participant,
  reported: ReportedLoad,
): void {
  const { machine } = participant.load;
  const limitBefore = machine?.limit;
  participant.learned.reported = reported;
  updateLimit(participant, context.limits);
  // The machine's limit may change where a declared one of the participant does not, which is no event.
  if (machine?.limit !== limitBefore) wakeRooms(context, participant.roomCode, machine);
}

/** What a model server says of its model, by its agent or to the hub. */
export function takeFacts(
  participant: Participant,
  { context, features, answersAs }: ReportedFacts,
): void {
  const { learned } = participant;
  const before = learned.facts;
  learned.facts = {
    context: ModelContext.safeParse(context).data,
    features: features && featuresIn(features),
    answersAs: answersAs?.slice(0, 256),
  };
  if (isOther(context, before.context)) learned.refused = undefined;
  if (isOther(learned.facts.features, before.features)) learned.measured = undefined;
  updateFacts(participant);
}

function isOther(one: object | undefined, before: object | undefined): boolean {
  return JSON.stringify(one) !== JSON.stringify(before);
}

/**
 * `PUT …/participants/:id/features`: what requests of the host have shown. Contract §3, "Features".
 *
 * @throws HubError `participant_not_found`, `host_token_required`
 */
export function featuresMeasured(
  context: OperationContext,
  code: string,
  id: string,
  measured: MeasuredFeatures,
  peer: Peer,
): Participant {
  const room = context.registry.room(code);
  const participant = context.registry.participant(room, id);
  requireHost(room, peer);
  const before = shownOf(participant);
  participant.learned.measured = Object.keys(measured).length === 0 ? undefined : measured;
  updateFacts(participant);
  if (shownOf(participant) !== before) announceUpdate(context, participant);
  return participant;
}

/** An error of its model server named its context. Contract §3, "Context". */
export function contextLearned(
  context: OperationContext,
  participant: Participant,
  tokens: number,
): void {
  const before = shownOf(participant);
  noteRefusedContext(participant, tokens, context.nowMs());
  if (shownOf(participant) !== before) announceUpdate(context, participant);
}

/** A word that is not known, or not there, is `unknown`. */
function featuresIn(words: Readonly<Record<string, string>>): Features {
  const names = Features.keyof().options;
  const read = names.map((name) => [
    name,
    Features.shape[name].safeParse(words[name]).data ?? "unknown",
  ]);
  return Features.parse(Object.fromEntries(read));
}

/** What an update is announced for. Slots that other programs take come and go like requests, without one. */
export function shownOf({ paths, learned, load }: Participant): string {
  const { tunnel } = paths;
  const { capabilities, context, features } = learned;
  const { limit, limitFrom } = load;
  const { answersAs } = learned.facts;
  return JSON.stringify([tunnel, capabilities, limit, limitFrom, context, features, answersAs]);
}

/** Announces the changes of loaded models that are due. */
export function announceLoadedModels(context: OperationContext): void {
  for (const participant of context.loadedUpdates.takeDue(context.nowMs())) {
    announceUpdate(context, participant);
  }
}

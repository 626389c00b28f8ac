import type { BlockPlan } from "./block-plan.ts";
import { readCommands } from "./install.ts";

const cannot = "it is about one room on several machines; its commands of roomhub are read";

export const closedRoom: readonly BlockPlan[] = [
  { begins: "roomhub serve --lan", cannot, follow: readCommands },
  { begins: "export OPENAI_BASE_URL", cannot: "it reads a key from the keyboard" },
  { begins: "roomhub key create", cannot, follow: readCommands },
  { begins: "roomhub key list", cannot, follow: readCommands },
];

export const encrypted: readonly BlockPlan[] = [
  { begins: "roomhub up --lan", cannot, follow: readCommands },
];

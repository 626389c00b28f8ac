import { expect, test } from "vitest";
import { createFreshAgents, createLookup, createPooledAgents } from "./agents.ts";

test.each([
  ["kept", createPooledAgents],
  ["fresh", createFreshAgents],
])("%s sockets give each address the time to lose its first packet", (_kind, create) => {
  const { plain, secure } = create(createLookup(undefined));
  const options = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 3_000 };
  for (const agent of [plain, secure]) expect(agent).toMatchObject({ options });
});

import type { Need } from "../../scenario.ts";

/** Of each scenario of a cluster, whose machines are network namespaces. */
export const clusterNeeds: readonly Need[] = ["root", "namespaces", "iptables", "nats-server"];

/** Inference APIs that many clients share, by their host. */
const hosts: ReadonlySet<string> = new Set([
  "api.anthropic.com",
  "api.cerebras.ai",
  "api.cohere.ai",
  "api.cohere.com",
  "api.deepinfra.com",
  "api.deepseek.com",
  "api.fireworks.ai",
  "api.groq.com",
  "api.hyperbolic.xyz",
  "api.mistral.ai",
  "api.moonshot.ai",
  "api.novita.ai",
  "api.openai.com",
  "api.perplexity.ai",
  "api.sambanova.ai",
  "api.together.ai",
  "api.together.xyz",
  "api.x.ai",
  "api.z.ai",
  "generativelanguage.googleapis.com",
  "integrate.api.nvidia.com",
  "openrouter.ai",
  "router.huggingface.co",
]);

/** Hosts of one customer each. */
const customerHost =
  /\.(?:openai\.azure\.com|services\.ai\.azure\.com|endpoints\.huggingface\.cloud)$|^bedrock-runtime\.[\w-]+\.amazonaws\.com$|^[\w-]*aiplatform\.googleapis\.com$/;

/** Whether a base URL is that of a public inference API. By its name alone: no request is sent. */
export function isCloudApi(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === "https:" && (hosts.has(hostname) || customerHost.test(hostname));
}

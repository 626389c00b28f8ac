# What applications do with ruby-openai, printed as JSON. It adds `v1` to its base URL, without a slash before it.
require "json"
require "openai"

base_url, = ARGV
messages = [{ role: "user", content: "to be" }]
client = OpenAI::Client.new(access_token: "any", uri_base: "#{base_url.delete_suffix("/v1")}/")
chat = client.chat(parameters: { model: "*", messages: })
refused = client.chat(parameters: { model: "missing", messages: })
embeddings = client.embeddings(parameters: { model: "*", input: "a" })
models = client.models.list["data"].map { |model| model["id"] }

OpenAI.configuration.uri_base = base_url
mistaken = client.chat(parameters: { model: "*", messages: })

puts JSON.generate(
  models:,
  chat: chat.dig("choices", 0, "message", "content"),
  vector: embeddings.dig("data", 0, "embedding"),
  refused: refused.dig("error", "code"),
  mistaken: mistaken.dig("error", "hint")
)

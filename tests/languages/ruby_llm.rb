# What applications do with ruby_llm, printed as JSON.
require "json"
require "ruby_llm"

base_url, = ARGV
RubyLLM.configure do |config|
  config.openai_api_base = base_url
  config.openai_api_key = "any"
  config.anthropic_api_base = base_url.delete_suffix("/v1")
  config.anthropic_api_key = "any"
end

chat = lambda do |provider = :openai, model = "fake-model"|
  RubyLLM.chat(model:, provider:, assume_model_exists: true)
end

class Weather < RubyLLM::Tool
  description "Tells the weather of a city."
  parameter :city

  def execute(city:) = "light rain in #{city}"
end

words = []
chat.call.ask("to be or not") { |chunk| words << chunk.content }
refused = begin
  chat.call(:openai, "missing").ask("to be")
rescue RubyLLM::Error => error
  error.message
end

puts JSON.generate(
  chat: chat.call.ask("to be").content,
  words: words.reject { |word| word.to_s.empty? },
  tool: chat.call.with_tools(Weather).ask("Oslo").content,
  message: chat.call(:anthropic).ask("to be").content,
  vector: RubyLLM.embed("a", model: "fake-model", provider: :openai, assume_model_exists: true).vectors,
  refused:
)

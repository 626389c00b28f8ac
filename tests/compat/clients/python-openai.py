"""What applications do with OpenAI's SDK for Python. Words of a stream are told; False in reply leaves the stream."""

import json

import openai


def client(base_url):
    return openai.OpenAI(base_url=base_url, api_key="any-string-will-do")


def list_models(base_url):
    return [model.id for model in client(base_url).models.list()]


def chat(base_url, model, messages, **more):
    return client(base_url).chat.completions.create(model=model, messages=messages, **more)


def ask_chat(base_url, model, prompt):
    completion = chat(base_url, model, user_says(prompt))
    return {"text": completion.choices[0].message.content, "usage": chat_usage(completion.usage)}


def stream_chat(base_url, model, prompt):
    text, usage = "", None
    options = {"stream": True, "stream_options": {"include_usage": True}}
    with chat(base_url, model, user_says(prompt), **options) as stream:
        for chunk in stream:
            usage = chat_usage(chunk.usage) or usage
            words = chunk.choices[0].delta.content if chunk.choices else None
            text += words or ""
            if words and not tell(words):
                break
    return {"text": text, "usage": usage}


def use_tool_chat(base_url, model, prompt, tool):
    tools = [{"type": "function", "function": tool}]
    message = chat(base_url, model, user_says(prompt), tools=tools).choices[0].message
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": tell(json.loads(call.function.arguments))}
        for call in message.tool_calls
    ]
    messages = [*user_says(prompt), message, *results]
    return chat(base_url, model, messages, tools=tools).choices[0].message.content


def ask_for_json_chat(base_url, model, prompt, schema):
    form = {"type": "json_schema", "json_schema": {"name": "weather", "schema": schema}}
    return json.loads(
        chat(base_url, model, user_says(prompt), response_format=form).choices[0].message.content
    )


def ask_about_image_chat(base_url, model, prompt, image):
    parts = [
        {"type": "text", "text": prompt},
        {"type": "image_url", "image_url": {"url": image}},
    ]
    return chat(base_url, model, [{"role": "user", "content": parts}]).choices[0].message.content


def fail_chat(base_url, model, prompt):
    return failure_of(lambda: ask_chat(base_url, model, prompt))


def respond(base_url, model, input, **more):
    return client(base_url).responses.create(model=model, input=input, **more)


def ask_responses(base_url, model, prompt):
    response = respond(base_url, model, prompt)
    return {"text": response.output_text, "usage": usage_of(response.usage)}


def stream_responses(base_url, model, prompt):
    text, usage = "", None
    with respond(base_url, model, prompt, stream=True) as stream:
        for event in stream:
            if event.type == "response.completed":
                usage = usage_of(event.response.usage)
            if event.type == "response.output_text.delta":
                text += event.delta
                if not tell(event.delta):
                    break
    return {"text": text, "usage": usage}


def use_tool_responses(base_url, model, prompt, tool):
    tools = [{"type": "function", "strict": True, **tool}]
    asked = user_says(prompt)
    output = respond(base_url, model, asked, tools=tools).output
    results = [
        {
            "type": "function_call_output",
            "call_id": item.call_id,
            "output": tell(json.loads(item.arguments)),
        }
        for item in output
        if item.type == "function_call"
    ]
    # Everything is sent back, reasoning too, as its documentation describes.
    return respond(base_url, model, [*asked, *output, *results], tools=tools).output_text


def ask_for_json_responses(base_url, model, prompt, schema):
    form = {"format": {"type": "json_schema", "name": "weather", "schema": schema}}
    return json.loads(respond(base_url, model, prompt, text=form).output_text)


def ask_about_image_responses(base_url, model, prompt, image):
    parts = [
        {"type": "input_text", "text": prompt},
        {"type": "input_image", "image_url": image, "detail": "auto"},
    ]
    return respond(base_url, model, [{"role": "user", "content": parts}]).output_text


def fail_responses(base_url, model, prompt):
    return failure_of(lambda: ask_responses(base_url, model, prompt))


def failure_of(ask):
    try:
        ask()
    except openai.APIStatusError as error:
        return {"status": error.status_code, "code": error.code, "message": str(error)}
    raise AssertionError("it did not fail")


def user_says(content):
    return [{"role": "user", "content": content}]


def chat_usage(usage):
    return usage and {"inputTokens": usage.prompt_tokens, "outputTokens": usage.completion_tokens}


def usage_of(usage):
    return usage and {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}

"""What applications do with Anthropic's SDK for Python. Words of a stream are told; False in reply leaves the stream."""

import anthropic


def client(base_url):
    # It adds `/v1` itself.
    return anthropic.Anthropic(base_url=base_url.removesuffix("/v1"), api_key="any-string-will-do")


def list_models(base_url):
    return [model.id for model in client(base_url).models.list()]


def create(base_url, model, messages, **more):
    return client(base_url).messages.create(
        model=model, max_tokens=1024, messages=messages, **more
    )


def ask_messages(base_url, model, prompt):
    message = create(base_url, model, user_says(prompt))
    return {"text": text_of(message), "usage": usage_of(message.usage)}


def stream_messages(base_url, model, prompt):
    with client(base_url).messages.stream(
        model=model, max_tokens=1024, messages=user_says(prompt)
    ) as stream:
        for words in stream.text_stream:
            if not tell(words):
                return None
        message = stream.get_final_message()
    return {"text": text_of(message), "usage": usage_of(message.usage)}


def use_tool_messages(base_url, model, prompt, tool):
    schema = {"name": tool["name"], "input_schema": tool["parameters"]}
    message = create(base_url, model, user_says(prompt), tools=[schema])
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": tell(block.input)}
        for block in message.content
        if block.type == "tool_use"
    ]
    turn = {"role": "assistant", "content": message.content}
    messages = [*user_says(prompt), turn, *user_says(results)]
    return text_of(create(base_url, model, messages, tools=[schema]))


def ask_about_image_messages(base_url, model, prompt, image):
    data = image.removeprefix("data:image/png;base64,")
    source = {"type": "base64", "media_type": "image/png", "data": data}
    parts = [{"type": "image", "source": source}, {"type": "text", "text": prompt}]
    return text_of(create(base_url, model, user_says(parts)))


def fail_messages(base_url, model, prompt):
    try:
        ask_messages(base_url, model, prompt)
    except anthropic.APIStatusError as error:
        code = error.body["error"]["type"]
        return {"status": error.status_code, "code": code, "message": str(error)}
    raise AssertionError("it did not fail")


def user_says(content):
    return [{"role": "user", "content": content}]


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def usage_of(usage):
    return {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}

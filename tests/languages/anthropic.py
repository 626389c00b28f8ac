"""What applications do with Anthropic's SDK for Python, beyond the matrix of tests/compat."""

import anthropic


def client(base_url, **options):
    return anthropic.Anthropic(base_url=base_url, **{"api_key": "any", **options})


def user_says(content):
    return [{"role": "user", "content": content}]


def ask(base_url, prompt, model="*", **options):
    messages = client(base_url, **options).messages
    response = messages.with_raw_response.create(
        model=model, max_tokens=9, messages=user_says(prompt)
    )
    return {"text": response.parse().content[0].text, "retries": response.retries_taken}


def fail(base_url, prompt, **options):
    try:
        ask(base_url, prompt, **options)
    except anthropic.APIStatusError as error:
        return failure_of(error)
    raise AssertionError("it did not fail")


def failure_of(error):
    body = error.body["error"]
    return {"kind": type(error).__name__, **{name: body.get(name) for name in ("code", "hint")}}


def count(base_url, prompt):
    messages = client(base_url).messages
    counted = messages.with_raw_response.count_tokens(model="*", messages=user_says(prompt))
    return {
        "tokens": counted.parse().input_tokens,
        "said_of_it": counted.headers.get("x-roomhub-token-count"),
    }


def stream_until_it_fails(base_url, prompt):
    words = []
    try:
        with client(base_url).messages.stream(
            model="*", max_tokens=9, messages=user_says(prompt)
        ) as stream:
            for word in stream.text_stream:
                words.append(word)
    except anthropic.APIStatusError as error:
        return {**failure_of(error), "words": words}
    raise AssertionError("it did not fail")

"""What applications do with OpenAI's SDK for Python, beyond the matrix of tests/compat."""

import asyncio
import io
import os
import ssl
import tempfile
import time

import openai
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    celsius: float


def client(base_url, api_key="any", **options):
    return openai.OpenAI(base_url=base_url, api_key=api_key, **options)


def user_says(content):
    return [{"role": "user", "content": content}]


def ask(base_url, prompt, model="*", **options):
    """One chat completion, with what is beside it."""
    began = time.monotonic()
    completions = client(base_url, **options).chat.completions
    response = completions.with_raw_response.create(model=model, messages=user_says(prompt))
    return {
        "text": response.parse().choices[0].message.content,
        "participant": response.headers["x-roomhub-participant"],
        "request_id": response.request_id,
        "retries": response.retries_taken,
        "seconds": time.monotonic() - began,
    }


def fail(base_url, prompt, **options):
    return failure_of(lambda: ask(base_url, prompt, **options))


def failure_of(act):
    try:
        act()
    except openai.APIError as error:
        body = error.body or {}
        response = getattr(error, "response", None)
        return {
            "kind": type(error).__name__,
            "code": error.code,
            "hint": body.get("hint"),
            "retry_after": response and response.headers.get("retry-after"),
        }
    raise AssertionError("it did not fail")


def parse(base_url, text):
    room = client(base_url)
    completion = room.chat.completions.parse(
        model="*", messages=user_says(text), response_format=Weather
    )
    response = room.responses.parse(model="*", input=text, text_format=Weather)
    return [completion.choices[0].message.parsed.model_dump(), response.output_parsed.model_dump()]


def stream_with_helpers(base_url, prompt):
    room = client(base_url)
    with room.chat.completions.stream(model="*", messages=user_says(prompt)) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta" and event.delta]
        chat = stream.get_final_completion().choices[0].message.content
    with room.responses.stream(model="*", input=prompt) as stream:
        numbers = [event.sequence_number for event in stream]
        response = stream.get_final_response().output_text
    return {"deltas": deltas, "chat": chat, "numbers": numbers, "response": response}


def embed(base_url, texts):
    return [one.embedding for one in client(base_url).embeddings.create(model="*", input=texts).data]


def stream_until_it_fails(base_url, prompt):
    room = client(base_url)

    def chat():
        for chunk in room.chat.completions.create(
            model="*", messages=user_says(prompt), stream=True
        ):
            words.append(chunk.choices[0].delta.content)

    def responses():
        for event in room.responses.create(model="*", input=prompt, stream=True):
            if event.type == "response.output_text.delta":
                words.append(event.delta)

    ends = []
    for act in (chat, responses):
        words = []
        ends.append({**failure_of(act), "words": [word for word in words if word]})
    return ends


def many_at_once(base_url, prompts):
    async def one(room, prompt):
        stream = await room.chat.completions.create(
            model="*", messages=user_says(prompt), stream=True
        )
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    async def all_of_them():
        async with openai.AsyncOpenAI(base_url=base_url, api_key="any") as room:
            return await asyncio.gather(*(one(room, prompt) for prompt in prompts))

    return asyncio.run(all_of_them())


def cancel_a_task(base_url, prompt):
    async def begin_and_cancel():
        async with openai.AsyncOpenAI(base_url=base_url, api_key="any") as room:
            asking = room.chat.completions.create(model="*", messages=user_says(prompt))
            task = asyncio.create_task(asking)
            await asyncio.to_thread(tell, "began")
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return task.cancelled()

    return asyncio.run(begin_and_cancel())


def turns_on_a_socket(base_url, prompts):
    with client(base_url).responses.connect() as socket:
        texts = []
        for prompt in prompts:
            socket.send({"type": "response.create", "model": "*", "input": prompt})
            for event in socket:
                if event.type == "response.output_text.done":
                    texts.append(event.text)
                if event.type == "response.completed":
                    break
        return texts


def stored_responses(base_url):
    responses = client(base_url).responses
    made = responses.create(model="*", input="hi")
    return {
        "made": made.id,
        "retrieved": responses.retrieve(made.id).id,
        "items": [item.id for item in responses.input_items.list(made.id)],
        "cancelled": responses.cancel(made.id).status,
        "deleted": responses.delete(made.id),
        "unknown": failure_of(lambda: responses.retrieve("resp_unknown")),
    }


def sound_and_pictures(base_url):
    room = client(base_url)
    sound = lambda: ("a.wav", io.BytesIO(b"RIFF"))
    picture = ("a.png", io.BytesIO(b"\x89PNG"), "image/png")
    audio, images = room.audio, room.images
    heard = audio.transcriptions.create(model="*", file=sound(), stream=True)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.mp3")
        with audio.speech.with_streaming_response.create(
            model="*", voice="alloy", input="hello"
        ) as speech:
            speech.stream_to_file(path)
        spoken = os.path.getsize(path)
    return {
        "deltas": [event.delta for event in heard if event.type == "transcript.text.delta"],
        "translated": audio.translations.create(model="*", file=sound()).text,
        "spoken": spoken,
        "painted": images.generate(model="*", prompt="a hub").data[0].b64_json,
        "edited": images.edit(model="*", prompt="a hub", image=picture).data[0].b64_json,
        "seen": [
            event.type for event in images.generate(model="*", prompt="a hub", stream=True)
        ],
    }


def upload_to_a_room(base_url):
    files = client(base_url).files
    return failure_of(lambda: files.create(file=("a.jsonl", b"{}"), purpose="batch"))


def with_an_authority(base_url, authority, way):
    """@way: nothing, `verify` or `SSL_CERT_FILE`"""
    options = {"max_retries": 0}
    os.environ.pop("SSL_CERT_FILE", None)
    if way == "verify":
        context = ssl.create_default_context(cadata=authority)
        options["http_client"] = openai.DefaultHttpxClient(verify=context)
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(authority)
        file.flush()
        if way == "SSL_CERT_FILE":
            os.environ["SSL_CERT_FILE"] = file.name
        try:
            return ask(base_url, "to be", **options)["text"]
        except openai.APIConnectionError as error:
            return str(error.__cause__)
        finally:
            os.environ.pop("SSL_CERT_FILE", None)

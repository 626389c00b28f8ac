#!/usr/bin/env python3
"""A roomhub participant in one file: joins a room, keeps a tunnel to the hub open, serves chat requests.

    pip install websockets
    python participant.py http://127.0.0.1:5050/rooms/ABC234 --id parrot --model parrot-1

The model is answer(), at the end: put your own in its place. The wire is docs/reference/tunnel.md.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import struct
import time
import urllib.error
import urllib.request

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

HELLO, STATUS, REQUEST, RESPONSE, DATA, END, WINDOW, RESET, GOAWAY = range(1, 10)
REFUSED, INTERNAL = 6, 8
FRAME_HEAD = struct.Struct(">BII")  # type, stream, length of the payload
MAX_MESSAGE_BYTES = 1024 * 1024
MAX_BODY_PER_FRAME = 65_536
WINDOW_BYTES = 1024 * 1024  # body bytes per request the hub may send before it waits for credit
MAX_STREAMS = 16


def frame(kind, stream_id, payload=b""):
    return FRAME_HEAD.pack(kind, stream_id, len(payload)) + payload


def frames(message):
    """The frames of one message: (type, stream, payload)."""
    offset = 0
    while offset < len(message):
        kind, stream_id, length = FRAME_HEAD.unpack_from(message, offset)
        offset += FRAME_HEAD.size
        if offset + length > len(message):
            raise ValueError("a frame is longer than its message")
        yield kind, stream_id, message[offset : offset + length]
        offset += length


class Stream:
    """One running request. Runs as a task of its own, so that a cancel is the task's cancel."""

    def __init__(self, tunnel, stream_id, payload):
        (head_length,) = struct.unpack_from(">I", payload)
        self.tunnel = tunnel
        self.id = stream_id
        self.head = json.loads(payload[4 : 4 + head_length])
        self.body = bytearray(payload[4 + head_length :])
        self.unreturned = len(self.body)  # bytes consumed that no WINDOW has returned yet
        self.is_whole = asyncio.Event()
        self.credit = tunnel.hub_window_bytes  # bytes of the response that the hub still accepts
        self.has_credit = asyncio.Event()
        if self.head.get("end"):
            self.is_whole.set()
        self.task = asyncio.create_task(self.run())

    async def run(self):
        try:
            try:
                await self.serve()
            except asyncio.CancelledError:
                await self.send(END)  # confirms to the hub that nothing of this request is running any more
            except Exception as error:
                await self.send(RESET, bytes([INTERNAL]) + str(error).encode()[:1024])
        except ConnectionClosed:
            pass  # the tunnel is closed, so no frame can be sent
        finally:
            self.tunnel.streams.pop(self.id, None)

    async def serve(self):
        operation = self.head["method"] + " " + self.head["path"]
        if operation != "POST /chat/completions":
            reason = f"this participant does not serve {operation[:100]}"
            return await self.send(RESET, bytes([REFUSED]) + reason.encode())
        await self.is_whole.wait()
        request = json.loads(self.body)
        answering = answer(request["messages"])
        if request.get("stream") is not True:
            text = "".join([piece async for piece in answering])
            body = json.dumps(completion("chat.completion", message=assistant(text)))
            return await self.respond("application/json", body.encode())
        await self.send_head("text/event-stream")
        async for piece in answering:
            chunk = completion("chat.completion.chunk", delta=assistant(piece), finish_reason=None)
            await self.send_event(chunk)
        await self.send_event(completion("chat.completion.chunk", delta={}))
        await self.send_body(b"data: [DONE]\n\n")
        await self.send(END)

    async def respond(self, content_type, body):
        """A JSON response: one frame when it is small, several otherwise."""
        if len(body) <= min(MAX_BODY_PER_FRAME, self.credit):
            return await self.send_head(content_type, body, end=True)
        await self.send_head(content_type)
        await self.send_body(body)
        await self.send(END)

    async def send_event(self, data):
        await self.send_body(f"data: {json.dumps(data)}\n\n".encode())

    async def send_head(self, content_type, body=b"", end=False):
        head = {"status": 200, "headers": {"content-type": content_type}, "end": end}
        encoded = json.dumps(head).encode()
        self.credit -= len(body)
        await self.send(RESPONSE, struct.pack(">I", len(encoded)) + encoded + body)

    async def send_body(self, body):
        """Never more than the hub gave credit for: a client that does not read stops only its own stream."""
        while body:
            while self.credit == 0:
                self.has_credit.clear()
                await self.has_credit.wait()
            size = min(len(body), self.credit, MAX_BODY_PER_FRAME)
            self.credit -= size
            await self.send(DATA, body[:size])
            body = body[size:]

    async def receive(self, kind, payload):
        if kind == DATA:
            self.body += payload
            self.unreturned += len(payload)
            if self.unreturned >= WINDOW_BYTES // 2:
                returned, self.unreturned = self.unreturned, 0
                await self.send(WINDOW, struct.pack(">I", returned))
        elif kind == END:
            self.is_whole.set()
        elif kind == WINDOW:
            self.credit += struct.unpack(">I", payload)[0]
            self.has_credit.set()
        elif kind == RESET:
            self.task.cancel()

    async def send(self, kind, payload=b""):
        await self.tunnel.socket.send(frame(kind, self.id, payload))


class Tunnel:
    """One connection to the hub and the requests on it."""

    def __init__(self, socket):
        self.socket = socket
        self.streams = {}
        self.hub_window_bytes = 0

    async def run(self):
        hello = {
            "version": 1,
            "maxStreams": MAX_STREAMS,
            "windowBytes": WINDOW_BYTES,
            "capabilities": {"chatCompletions": "supported", "openResponses": "unsupported"},
        }
        await self.socket.send(frame(HELLO, 0, json.dumps(hello).encode()))
        try:
            async for message in self.socket:
                for kind, stream_id, payload in frames(message):
                    await self.receive(kind, stream_id, payload)
        except (ValueError, KeyError, struct.error) as error:
            await self.socket.close(4002, f"not a frame: {error}"[:100])
        finally:
            for stream in list(self.streams.values()):
                stream.task.cancel()

    async def receive(self, kind, stream_id, payload):
        if kind == HELLO:
            self.hub_window_bytes = json.loads(payload)["windowBytes"]
            print("connected", flush=True)
        elif kind == REQUEST:
            self.streams[stream_id] = Stream(self, stream_id, payload)
            await asyncio.sleep(0)  # its task begins, so that a cancel finds it inside its `try`
        elif stream_id in self.streams:  # frames of ended streams may have crossed ours
            await self.streams[stream_id].receive(kind, payload)


class Refused(Exception):
    """The hub rejects this participant, and a retry would not change that."""


class Participant:
    """Stays in the room: joins, dials, and dials again, with longer and longer pauses."""

    def __init__(self):
        self.hub_url, self.code = options.invite
        self.token = None

    async def stay(self):
        pause = 0.25
        tunnel_url = None
        while True:
            try:
                if tunnel_url is None:
                    tunnel_url = await asyncio.to_thread(self.join)
                started = time.monotonic()
                await self.dial(tunnel_url)
                pause = 0.25 if time.monotonic() - started > 30 else pause
            except InvalidStatus as error:
                if error.response.status_code in (401, 403):
                    raise Refused("the hub refused the token of this participant") from error
                if error.response.status_code == 404:
                    tunnel_url = None  # it was restarted: join again
            except (OSError, InvalidHandshake) as error:
                print(f"no hub: {error}", flush=True)
            await asyncio.sleep(pause * random.uniform(0.5, 1))
            pause = min(pause * 2, 15)

    async def dial(self, url):
        async with connect(
            url,
            subprotocols=["roomhub.tunnel.v1"],
            additional_headers={"Authorization": f"Bearer {self.token}"},
            compression=None,
            max_size=MAX_MESSAGE_BYTES,
            ping_interval=10,
            ping_timeout=20,
        ) as socket:
            try:
                await Tunnel(socket).run()
            except ConnectionClosed:
                pass  # close_code has the reason, also after a clean end
            if socket.close_code == 4001:
                raise Refused("another participant took this one's place")
            print(f"disconnected ({socket.close_code})", flush=True)

    def join(self):
        body = {
            "id": options.id,
            "nickname": options.nickname,
            "model": options.model,
            "endpoint": "http://function.invalid/v1",  # listed, never dialled
            "password": os.environ.get("ROOMHUB_PASSWORD"),
            "config": {"maxConcurrency": MAX_STREAMS // 2},
            "transport": "tunnel",
        }
        try:
            joined = self.call("POST", f"/rooms/{self.code}/join", body)
        except urllib.error.HTTPError as error:
            if error.code >= 500 or error.code == 429:
                raise
            raise Refused(json.load(error)["error"]["message"]) from error
        self.token = joined["participantToken"]
        return joined["tunnel"]["url"]

    def leave(self):
        if self.token is not None:
            self.call("DELETE", f"/v1/rooms/{self.code}/participants/{options.id}")

    def call(self, method, path, body=None):
        headers = {"content-type": "application/json", "x-participant-token": self.token or ""}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.hub_url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)


def completion(kind, **choice):
    return {
        "id": "chatcmpl-python",
        "object": kind,
        "created": int(time.time()),
        "model": options.model,
        "choices": [{"index": 0, "finish_reason": "stop", **choice}],
    }


def assistant(content):
    return {"role": "assistant", "content": content}


async def answer(messages):
    """The model: yields its response piece by piece. Cancelled, at the next `await`, when the client disconnects."""
    content = messages[-1]["content"]
    if not isinstance(content, str):
        content = " ".join(part.get("text", "") for part in content)
    for word in re.findall(r"\S+\s*", content):
        yield word
        await asyncio.sleep(options.pause)


def invitation(text):
    """`http://HUB:5050/rooms/CODE`, also with /v1 at the end -> the hub's URL and the room's code."""
    match = re.fullmatch(r"(https?://.*?)/rooms/(\w+)(?:/v1)?/?", text)
    if match is None:
        raise argparse.ArgumentTypeError("write it like http://127.0.0.1:5050/rooms/ABC234")
    return match.groups()


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("invite", type=invitation, help="http://HUB:5050/rooms/CODE")
    parser.add_argument("--id", default="parrot")
    parser.add_argument("--nickname", default="Parrot")
    parser.add_argument("--model", default="parrot-1")
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between two words")
    return parser.parse_args()


if __name__ == "__main__":
    options = parse_options()
    participant = Participant()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        asyncio.run(participant.stay())
    except Refused as refusal:
        raise SystemExit(f"refused: {refusal}")
    except KeyboardInterrupt:
        participant.leave()

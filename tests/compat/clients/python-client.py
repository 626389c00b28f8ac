"""Sends requests to a room with Python's HTTP libraries. Each line of an event stream is told; False in reply leaves the stream."""

import http.client
import json
from urllib.parse import urlsplit


def ask_with_requests(method, url, body):
    import requests

    streams = is_stream(body)
    with requests.request(method, url, json=body, stream=streams, timeout=20) as response:
        if not streams or response.status_code != 200:
            return {"status": response.status_code, "body": response.text}
        response.encoding = "utf-8"
        relay(response.iter_lines(decode_unicode=True))
        return {"status": response.status_code, "body": ""}


def ask_with_http_client(method, url, body):
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    try:
        text = None if body is None else json.dumps(body)
        connection.request(method, parts.path, text, {"Content-Type": "application/json"})
        response = connection.getresponse()
        if not is_stream(body) or response.status != 200:
            return {"status": response.status, "body": response.read().decode()}
        relay(line.decode().rstrip("\r\n") for line in response)
        return {"status": response.status, "body": ""}
    finally:
        connection.close()


def is_stream(body):
    return (body or {}).get("stream") is True


def relay(lines):
    for line in lines:
        if not tell(line):
            return

"""Asks a room with Python's HTTP libraries: commands come as lines of JSON on stdin, answers leave on stdout.

A command is {"library", "method", "url", "body"}. An answer is {"line": …} for each line of an event stream, to which
stdin says "go on" or "leave", and then {"status": …, "body": …}.
"""

import http.client
import json
import sys
from urllib.parse import urlsplit


def main():
    for line in iter(sys.stdin.readline, ""):
        command = json.loads(line)
        ask = ask_with_requests if command["library"] == "requests" else ask_with_http_client
        status, body = ask(command)
        tell({"status": status, "body": body})


def ask_with_requests(command):
    import requests

    streams = is_stream(command)
    with requests.request(
        command["method"], command["url"], json=command["body"], stream=streams, timeout=20
    ) as response:
        if not streams or response.status_code != 200:
            return response.status_code, response.text
        response.encoding = "utf-8"
        relay(response.iter_lines(decode_unicode=True))
        return response.status_code, ""


def ask_with_http_client(command):
    url = urlsplit(command["url"])
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
    try:
        body = None if command["body"] is None else json.dumps(command["body"])
        connection.request(command["method"], url.path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        if not is_stream(command) or response.status != 200:
            return response.status, response.read().decode()
        relay((line.decode().rstrip("\r\n") for line in response))
        return response.status, ""
    finally:
        connection.close()


def is_stream(command):
    return (command["body"] or {}).get("stream") is True


def relay(lines):
    for line in lines:
        tell({"line": line})
        if sys.stdin.readline() == "leave\n":
            return


def tell(value):
    print(json.dumps(value), flush=True)


main()

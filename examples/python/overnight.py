"""Evaluates a room's model over night: uploads questions as a batch, waits, and counts what it got right.

    pip install openai
    roomhub batch serve --room ABC234 --dir ~/batches    # prints OPENAI_BASE_URL and OPENAI_API_KEY
    python overnight.py llama3.2                         # begins a batch, and waits for its end
    python overnight.py llama3.2 batch_…                 # waits for one that was begun before
"""

import json
import os
import re
import sys
import time

from openai import OpenAI

POLL_SECONDS = float(os.environ.get("POLL_MS", "30000")) / 1000
SUMS = {f"sum-{n}": (n, n * 37 % 100) for n in range(100)}


def begin(client: OpenAI, model: str) -> str:
    lines = []
    for custom_id, (a, b) in SUMS.items():
        messages = [{"role": "user", "content": f"What is {a} + {b}? Only the number."}]
        request = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions"}
        lines.append(json.dumps({**request, "body": {"model": model, "messages": messages}}))
    file = client.files.create(file=("sums.jsonl", "\n".join(lines).encode()), purpose="batch")
    batch = client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
    )
    return batch.id


def main(model: str = "*", begun: str | None = None) -> None:
    # `batch serve` may be stopped and started meanwhile.
    client = OpenAI(max_retries=20)
    batch_id = begun or begin(client, model)
    print(f"batch {batch_id}", flush=True)

    batch = client.batches.retrieve(batch_id)
    while batch.status in ("validating", "in_progress", "finalizing", "cancelling"):
        time.sleep(POLL_SECONDS)
        batch = client.batches.retrieve(batch_id)

    counts = batch.request_counts
    print(f"{batch.status}: {counts.completed} results, {counts.failed} errors")
    for error in batch.errors.data if batch.errors else []:
        print(f"line {error.line}: {error.message}")

    if batch.output_file_id:
        answers = {}
        for line in client.files.content(batch.output_file_id).iter_lines():
            result = json.loads(line)
            answer = result["response"]["body"]["choices"][0]["message"]["content"]
            answers[result["custom_id"]] = re.findall(r"\d+", answer)[-1:]
        right = sum(answers.get(one) == [str(a + b)] for one, (a, b) in SUMS.items())
        print(f"{right} of {len(SUMS)} sums are right")


if __name__ == "__main__":
    main(*sys.argv[1:])

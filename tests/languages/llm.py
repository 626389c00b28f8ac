"""The command `llm`, with a model of a room among its own."""

import os
import tempfile

import llm.cli
from click.testing import CliRunner

MODEL = """
- model_id: room
  model_name: "*"
  api_base: "{base_url}"
  supports_schema: true
  supports_tools: true
"""


def run(base_url, command):
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LLM_USER_PATH"] = folder
        with open(os.path.join(folder, "extra-openai-models.yaml"), "w") as file:
            file.write(MODEL.format(base_url=base_url))
        ended = CliRunner().invoke(llm.cli.cli, [*command, "--key", "any"])
        return {"exit_code": ended.exit_code, "output": ended.output}


"""Does what lines of JSON on stdin say: {"do": …, "given": {…}} calls the function of that name with these arguments.

On stdout, a line {"result": …} or {"raised": …} ends a call. A line {"told": …} before that is answered with a line of JSON
on stdin.
"""

import json
import sys
import traceback


def tell(value):
    write({"told": value})
    return json.loads(sys.stdin.readline())


def write(value):
    print(json.dumps(value), flush=True)


def serve(functions):
    for line in iter(sys.stdin.readline, ""):
        call = json.loads(line)
        try:
            write({"result": functions[call["do"]](**call["given"])})
        except Exception:
            write({"raised": traceback.format_exc()})

"""
Runs Python clients, each against a world of its own: jobs as JSON lines on stdin, a line of the
intents file or `{"ended": n}` per job on stdout. Time is the world's: a sleep of the client moves
its manual clock, so that the libraries' own waits are measured and take no real time.
"""

import asyncio
import importlib
import json
import random
import sys
import time
import urllib.request
from types import SimpleNamespace

real_monotonic, real_time = time.monotonic, time.time
slept = 0.0
job = None

SEND = "/api/v1/sms/send/"
clients = {}


def client(name):
    """Registers a program under its name in the catalogue."""

    def register(run):
        clients[name] = run
        return run

    return register


def advance(seconds):
    global slept
    if seconds <= 0:
        return
    slept += seconds
    control("clock/advance", {"by": f"{max(1, round(seconds * 1000))}ms"})


async def advance_async(seconds, result=None):
    advance(seconds)
    return result


def control(path, body, method="POST"):
    """What a team does by hand: an operation on the world."""
    request = urllib.request.Request(
        f"{job.control_url}/control/{path}",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
        method=method,
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


time.sleep = advance
time.monotonic = lambda: real_monotonic() + slept
time.time = lambda: real_time() + slept
asyncio.sleep = advance_async


def body_of(message, **more):
    fields = {name: message[name] for name in ("to", "from", "message")}
    return {**fields, "request_id": f"id-{message['intent']}", **more}


def report(message, reported, request_id=None):
    line = {**message, "reported": reported}
    if request_id is not None:
        line["request_id"] = request_id
    print(json.dumps({"line": line}), flush=True)


def each(send, swallows=False):
    """Sends one message after the other; a send that raises has failed."""
    for message in job.messages:
        try:
            send(message)
        except Exception:
            if not swallows:
                report(message, "failed")
        else:
            report(message, "accepted")


def persistently(send):
    """Sends one message after the other, and comes back a minute later to what raises."""
    for message in job.messages:
        while True:
            try:
                send(message)
                break
            except Exception:
                time.sleep(61 + random.random() * 10)
        report(message, "accepted", f"id-{message['intent']}")


def main():
    global job, slept
    for library in ("urllib3", "requests", "tenacity", "httpx", "urllib"):
        importlib.import_module(f"{library}_clients")
    for line in sys.stdin:
        job = SimpleNamespace(**json.loads(line))
        slept = 0.0
        random.seed(job.seed)
        job.headers = {"Authorization": f"Bearer {job.key}"}
        job.send_url = f"{job.base_url}{SEND}"
        clients[job.name]()
        print(json.dumps({"ended": job.number}), flush=True)


if __name__ == "__main__":
    sys.modules["harness"] = sys.modules["__main__"]
    main()

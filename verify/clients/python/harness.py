"""
Runs Python clients, each against a world of its own: jobs as JSON lines on stdin; on stdout, lines
of the intents file, and `ended` after each job. Time is the world's: a sleep of the client moves
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

real_monotonic, started = time.monotonic, time.time()
slept = 0.0
job = None


def advance(seconds):
    global slept
    if seconds <= 0:
        return
    slept += seconds
    request = urllib.request.Request(
        f"{job.control_url}/control/clock/advance",
        json.dumps({"by": f"{max(1, round(seconds * 1000))}ms"}).encode(),
        {"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request).close()


async def advance_async(seconds, result=None):
    advance(seconds)
    return result


time.sleep = advance
time.monotonic = lambda: real_monotonic() + slept
# Without the real time that passes, which is long on a busy machine.
time.time = lambda: started + slept
asyncio.sleep = advance_async


def body_of(message, **more):
    fields = {name: message[name] for name in ("to", "from", "message")}
    return {**fields, "request_id": f"id-{message['intent']}", **more}


def report(message, reported, request_id=None):
    line = {**message, "reported": reported}
    if request_id is not None:
        line["request_id"] = request_id
    print(json.dumps(line), flush=True)


def each(send):
    """Sends one message after the other; a send that raises has failed."""
    for message in job.messages:
        try:
            send(message)
        except Exception:
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
    clients = importlib.import_module("clients")
    for line in sys.stdin:
        job = SimpleNamespace(**json.loads(line))
        slept = 0.0
        random.seed(job.seed)
        job.headers = {"Authorization": f"Bearer {job.key}"}
        job.send_url = f"{job.base_url}/api/v1/sms/send/"
        getattr(clients, job.name)()
        print("ended", flush=True)


if __name__ == "__main__":
    sys.modules["harness"] = sys.modules["__main__"]
    main()

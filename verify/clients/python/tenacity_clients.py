"""Clients that tenacity repeats."""

import random

import requests
import tenacity

import harness
from harness import body_of, client, each, persistently


def post(body):
    reply = requests.post(harness.job.send_url, json=body, headers=harness.job.headers, timeout=30)
    reply.raise_for_status()
    return reply.json()


def repeated(**options):
    return tenacity.retry(reraise=True, **options)


def wait_by_header(state):
    response = getattr(state.outcome.exception(), "response", None)
    after = None if response is None else response.headers.get("Retry-After")
    return 20 if after is None else int(after) + random.random() * 5


@client("tenacity-exponential")
def exponential():
    wait = tenacity.wait_exponential(multiplier=1, max=30)
    each(repeated(wait=wait, stop=tenacity.stop_after_attempt(5))(lambda message: post(body_of(message))))


@client("tenacity-any-exception")
def any_exception():
    @repeated(wait=tenacity.wait_fixed(30), stop=tenacity.stop_after_attempt(3))
    def send(message):
        post(body_of(message))

    each(send)


@client("tenacity-every-two-seconds")
def every_two_seconds():
    harness.control("faults", {"when": {"every": 1}, "fault": {"kind": "refuse"}})
    each(repeated(wait=tenacity.wait_fixed(2), stop=tenacity.stop_after_attempt(12))(lambda message: post(body_of(message))))


@client("tenacity-every-five-seconds")
def every_five_seconds():
    each(repeated(wait=tenacity.wait_fixed(5), stop=tenacity.stop_after_attempt(3))(lambda message: post(body_of(message))))


@client("tenacity-stops-in-silence")
def stops_in_silence():
    send = tenacity.retry(
        wait=tenacity.wait_fixed(15),
        stop=tenacity.stop_after_attempt(1),
        retry_error_callback=lambda state: None,
    )(lambda message: post(body_of(message)))
    for message in harness.job.messages:
        if send(message) is not None:
            harness.report(message, "accepted")


@client("tenacity-by-header")
def by_header():
    persistently(
        repeated(wait=wait_by_header, stop=tenacity.stop_after_attempt(4))(lambda message: post(body_of(message)))
    )

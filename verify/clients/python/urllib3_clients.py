"""Clients on urllib3, whose Retry does the waiting."""

import json

import urllib3
from urllib3.util.retry import Retry

import harness
from harness import body_of, client, each, persistently


def pool(**retry):
    """A manager whose retries are these; urllib3 retries no POST unless it is allowed to."""
    return urllib3.PoolManager(retries=Retry(allowed_methods=None, **retry), timeout=30)


def sender(manager, body=body_of):
    def send(message):
        reply = manager.request(
            "POST",
            harness.job.send_url,
            body=json.dumps(body(message)),
            headers={**harness.job.headers, "Content-Type": "application/json"},
        )
        if reply.status >= 300:
            raise RuntimeError(reply.status)
        json.loads(reply.data)

    return send


def without_id(message):
    body = body_of(message)
    del body["request_id"]
    return body


@client("urllib3-ignores-retry-after")
def ignores_retry_after():
    each(sender(pool(total=4, status_forcelist=[429], backoff_factor=1, respect_retry_after_header=False)))


@client("urllib3-resends-without-id")
def resends_without_id():
    each(sender(pool(total=3, backoff_factor=1), without_id))


@client("urllib3-repeats-all-errors")
def repeats_all_errors():
    wrong = lambda message: body_of(message, **{"from": "+12025550199"})
    each(sender(pool(total=2, status_forcelist=range(400, 600), backoff_factor=1), wrong))


@client("urllib3-swallows")
def swallows():
    each(sender(urllib3.PoolManager(retries=False)), swallows=True)


@client("urllib3-nine-retries")
def nine_retries():
    harness.control("faults", {"when": {"every": 1}, "fault": {"kind": "status", "status": 503}})
    each(sender(pool(total=9, status_forcelist=[503], backoff_factor=0.1)))


@client("urllib3-respects-retry-after")
def respects_retry_after():
    persistently(sender(pool(total=3, status_forcelist=[429, 503], backoff_factor=5)))

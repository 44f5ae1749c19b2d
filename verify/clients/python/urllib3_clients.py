"""Clients on urllib3, whose Retry does the waiting."""

import json

import urllib3
from urllib3.util.retry import Retry

import harness
from harness import body_of, client, each, persistently


def pool(**retry):
    """A manager whose retries are these; urllib3 retries no POST unless it is allowed to."""
    return urllib3.PoolManager(retries=Retry(allowed_methods=None, **retry), timeout=30)


def sender(manager):
    def send(message):
        reply = manager.request(
            "POST",
            harness.job.send_url,
            body=json.dumps(body_of(message)),
            headers={**harness.job.headers, "Content-Type": "application/json"},
        )
        if reply.status >= 300:
            raise RuntimeError(reply.status)
        json.loads(reply.data)

    return send


@client("urllib3-ignores-retry-after")
def ignores_retry_after():
    each(sender(pool(total=4, status_forcelist=[429], backoff_factor=1, respect_retry_after_header=False)))


@client("urllib3-respects-retry-after")
def respects_retry_after():
    persistently(sender(pool(total=3, status_forcelist=[429, 503], backoff_factor=5)))

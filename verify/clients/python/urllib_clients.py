"""Clients on urllib of the standard library."""

import http.client
import json
import time
import urllib.error
import urllib.request

import harness
from harness import body_of, client, report


def send(message):
    """The seconds to wait, or None once the message is confirmed."""
    body = json.dumps(body_of(message)).encode()
    headers = {**harness.job.headers, "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(harness.job.send_url, body, headers)) as reply:
            json.load(reply)
            return None
    except urllib.error.HTTPError as error:
        return int(error.headers.get("Retry-After", 20))
    except (OSError, ValueError, http.client.HTTPException):
        return 20


@client("urllib-counts-from-another-clock")
def counts_from_another_clock():
    """Its clock is days behind the service's, and goes back by an hour each time it is set."""
    offset = -5 * 86400
    for message in harness.job.messages:
        offset -= 3600
        while (wait := send(message)) is not None:
            until = time.time() + offset + wait
            while time.time() + offset < until:
                time.sleep(1)
        report(message, "accepted")


@client("urllib-reads-the-date")
def reads_the_date():
    from email.utils import parsedate_to_datetime

    for message in harness.job.messages:
        for _ in range(4):
            wait = send(message)
            if wait is None:
                break
            try:
                time.sleep(max(0, parsedate_to_datetime(str(wait)).timestamp() - time.time()))
            except (TypeError, ValueError):
                time.sleep(5)
        report(message, "failed" if wait is not None else "accepted")

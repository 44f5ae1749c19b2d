"""
Clients in Python, by library. The comment above each is its row of the catalogue: the rule that it
breaks, or `right`; what else it breaks, the troubles that it must meet, and what it does.
"""

import asyncio
import http.client
import json
import random
import time
import urllib.error
import urllib.request
import uuid
from email.utils import parsedate_to_datetime

import httpx
import requests
import tenacity
import urllib3
from urllib3.util.retry import Retry

import harness
from harness import body_of, each, persistently, report


def sender_by_urllib3(**retry):
    # Without `allowed_methods`, urllib3 retries no POST.
    manager = urllib3.PoolManager(retries=Retry(allowed_methods=None, **retry), timeout=30)

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


def post(body, timeout=30):
    reply = requests.post(harness.job.send_url, json=body, headers=harness.job.headers, timeout=timeout)
    reply.raise_for_status()
    return reply.json()


def wait_by_urllib(message):
    """Sends once: the seconds to wait, or None once the message is confirmed."""
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


# CLIENT-1, also CLIENT-2 CLIENT-14, meets throttle: sets respect_retry_after_header=False
def urllib3_ignores_retry_after():
    each(sender_by_urllib3(total=4, status_forcelist=[429], backoff_factor=1, respect_retry_after_header=False))


# CLIENT-1, also CLIENT-2 CLIENT-14, meets throttle: reads Retry-After as an HTTP date alone
def urllib_reads_the_date():
    for message in harness.job.messages:
        for _ in range(4):
            wait = wait_by_urllib(message)
            if wait is None:
                break
            try:
                time.sleep(max(0, parsedate_to_datetime(str(wait)).timestamp() - time.time()))
            except (TypeError, ValueError):
                time.sleep(5)
        report(message, "failed" if wait is not None else "accepted")


# CLIENT-3, also CLIENT-5, meets lost_response: draws a UUID for each call of post
def requests_id_per_call():
    def send(message):
        for _ in range(3):
            try:
                return post(body_of(message, request_id=str(uuid.UUID(int=random.getrandbits(128)))))
            except requests.RequestException:
                time.sleep(30)
        raise RuntimeError("too many attempts")

    each(send)


# CLIENT-8, meets quota: repeats a send after any exception, a 402 too
def tenacity_any_exception():
    each(tenacity.retry(wait=tenacity.wait_fixed(30), stop=tenacity.stop_after_attempt(3))(lambda message: post(body_of(message))))


# CLIENT-9, meets busy: lets retry_error_callback return nothing
def tenacity_stops_in_silence():
    stop = tenacity.stop_after_attempt(1)
    send = tenacity.retry(stop=stop, retry_error_callback=lambda state: None)(lambda message: post(body_of(message)))
    for message in harness.job.messages:
        if send(message) is not None:
            report(message, "accepted")


# CLIENT-10, meets lost_response: reports a message as failed when its reply is lost
def httpx_lost_is_failed():
    with httpx.Client(headers=harness.job.headers, timeout=30) as session:
        each(lambda message: session.post(harness.job.send_url, json=body_of(message)).raise_for_status())


# right: retries POST by a Retry that respects Retry-After
def urllib3_respects_retry_after():
    persistently(sender_by_urllib3(total=3, status_forcelist=[429, 503], backoff_factor=5))


# right: closes the connection when its timeout is over, and retries under the same id
def requests_times_out():
    persistently(lambda message: post(body_of(message), timeout=0.1))


# right: waits by a function that reads Retry-After
def tenacity_by_header():
    def wait(state):
        response = getattr(state.outcome.exception(), "response", None)
        after = None if response is None else response.headers.get("Retry-After")
        return 20 if after is None else int(after) + random.random() * 5

    persistently(tenacity.retry(wait=wait, stop=tenacity.stop_after_attempt(4))(lambda message: post(body_of(message))))


# right: sends by an AsyncClient, and sleeps for Retry-After
def httpx_async():
    async def run():
        async with httpx.AsyncClient(headers=harness.job.headers, timeout=30) as session:
            for message in harness.job.messages:
                while not await confirmed(session, message):
                    pass
                report(message, "accepted")

    async def confirmed(session, message):
        try:
            reply = await session.post(harness.job.send_url, json=body_of(message))
            if reply.is_success:
                return bool(reply.json())
            await asyncio.sleep(int(reply.headers.get("Retry-After", 20)))
        except (httpx.HTTPError, ValueError):
            await asyncio.sleep(20)
        return False

    asyncio.run(run())


# right: has a clock that is days behind and is set back by an hour again and again
def urllib_counts_from_another_clock():
    offset = -5 * 86400
    for message in harness.job.messages:
        offset -= 3600
        while (wait := wait_by_urllib(message)) is not None:
            until = time.time() + offset + wait
            while time.time() + offset < until:
                time.sleep(1)
        report(message, "accepted")

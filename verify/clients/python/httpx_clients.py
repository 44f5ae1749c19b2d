"""Clients on httpx, which retries connections alone."""

import asyncio
import time

import httpx

import harness
from harness import body_of, client, each, report

RECEIVED = "/api/v1/sms/received/"


def new_session():
    return httpx.Client(base_url=harness.job.base_url, headers=harness.job.headers, timeout=30)


@client("httpx-lost-is-failed")
def lost_is_failed():
    with new_session() as session:
        each(lambda message: session.post(harness.SEND, json=body_of(message)).raise_for_status())


@client("httpx-polls-received-every-ten-seconds")
def polls_received_every_ten_seconds():
    with new_session() as session:
        for _ in range(4):
            session.get(RECEIVED)
            time.sleep(10)


@client("httpx-number-without-plus")
def number_without_plus():
    with new_session() as session:
        each(lambda message: session.post(harness.SEND, json=body_of(message, to=message["to"][1:])).raise_for_status())


@client("httpx-key-in-the-body")
def key_in_the_body():
    with new_session() as session:
        each(lambda message: session.post(harness.SEND, json=body_of(message, auth={"key": harness.job.key})))


@client("httpx-async")
def async_client():
    async def run():
        async with httpx.AsyncClient(base_url=harness.job.base_url, headers=harness.job.headers) as session:
            for message in harness.job.messages:
                while not await confirmed(session, message):
                    pass
                report(message, "accepted")

    async def confirmed(session, message):
        try:
            reply = await session.post(harness.SEND, json=body_of(message), timeout=30)
            if reply.is_success:
                return bool(reply.json())
            await asyncio.sleep(int(reply.headers.get("Retry-After", 20)))
        except (httpx.HTTPError, ValueError):
            await asyncio.sleep(20)
        return False

    asyncio.run(run())


@client("httpx-several-endpoints")
def several_endpoints():
    with new_session() as session:
        for _ in range(4):
            for path in (RECEIVED, "/api/v1/account/stats/"):
                session.get(path)
            time.sleep(30)

"""Clients on requests: by its adapter, or by a loop of their own."""

import random
import time
import uuid

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

import harness
from harness import body_of, client, each, persistently, report


def session(**retry):
    made = requests.Session()
    made.headers.update(harness.job.headers)
    if retry:
        made.mount("http://", HTTPAdapter(max_retries=Retry(allowed_methods=None, **retry)))
    return made


def post(made, body):
    reply = made.post(harness.job.send_url, json=body, timeout=30)
    reply.raise_for_status()
    return reply.json()


def careful(made, message):
    """Sends until it is confirmed."""
    while True:
        try:
            reply = made.post(harness.job.send_url, json=body_of(message), timeout=30)
            if reply.ok:
                return reply.json()
            time.sleep(int(reply.headers.get("Retry-After", 20)) + random.random())
        except (requests.RequestException, ValueError):
            time.sleep(20)


@client("requests-sleeps-a-second")
def sleeps_a_second():
    made = session()

    def send(message):
        for _ in range(4):
            if made.post(harness.job.send_url, json=body_of(message)).status_code != 429:
                return
            time.sleep(1)
        raise RuntimeError("too many attempts")

    each(send)


@client("requests-id-per-call")
def id_per_call():
    made = session()

    def send(message):
        for _ in range(3):
            try:
                return post(made, body_of(message, request_id=str(uuid.UUID(int=random.getrandbits(128)))))
            except requests.RequestException:
                time.sleep(30)
        raise RuntimeError("too many attempts")

    each(send)


@client("requests-id-of-the-day")
def id_of_the_day():
    made = session()
    each(lambda message: post(made, body_of(message, request_id=time.strftime("%Y-%m-%d"))))


@client("requests-queue-of-the-weekend")
def queue_of_the_weekend():
    made, queue = session(), list(harness.job.messages)
    while queue:
        left = []
        for message in queue:
            try:
                post(made, body_of(message))
                report(message, "accepted")
            except requests.RequestException:
                left.append(message)
        queue = left
        time.sleep(60 * 3600)


@client("requests-times-out")
def times_out():
    made = session()

    def send(message):
        reply = made.post(harness.job.send_url, json=body_of(message), timeout=0.1)
        reply.raise_for_status()
        reply.json()

    persistently(send)


@client("requests-refreshes-all")
def refreshes_all():
    made = session()
    ids = [post(made, body_of(message))["message_id"] for message in harness.job.messages]
    for _ in range(5):
        time.sleep(60)
        for message_id in ids:
            made.get(f"{harness.job.base_url}/api/v1/sms/{message_id}/")


@client("requests-adapter")
def adapter():
    made = session(total=3, status_forcelist=[429, 503], backoff_factor=5)
    persistently(lambda message: post(made, body_of(message)))


@client("requests-restarted")
def restarted():
    for message in harness.job.messages:
        if random.random() < 0.5:
            # The process ends before it reads the reply, and is started again a minute later.
            try:
                session().post(harness.job.send_url, json=body_of(message), stream=True).close()
            except requests.RequestException:
                pass
            time.sleep(61)
        careful(session(), message)
        report(message, "accepted")

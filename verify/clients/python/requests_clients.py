"""Clients on requests: by its adapter, or by a loop of their own."""

import random
import time
import uuid

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

import harness
from harness import body_of, client, each, persistently, report


def new_session(**retry):
    """A session with the key; `retry`: the options of a Retry that also repeats POST."""
    session = requests.Session()
    session.headers.update(harness.job.headers)
    if retry:
        session.mount("http://", HTTPAdapter(max_retries=Retry(allowed_methods=None, **retry)))
    return session


def post(session, body):
    reply = session.post(harness.job.send_url, json=body, timeout=30)
    reply.raise_for_status()
    return reply.json()


def careful(session, message):
    """Sends until it is confirmed."""
    while True:
        try:
            reply = session.post(harness.job.send_url, json=body_of(message), timeout=30)
            if reply.ok:
                return reply.json()
            time.sleep(int(reply.headers.get("Retry-After", 20)) + random.random())
        except (requests.RequestException, ValueError):
            time.sleep(20)


@client("requests-sleeps-a-second")
def sleeps_a_second():
    session = new_session()

    def send(message):
        for _ in range(4):
            if session.post(harness.job.send_url, json=body_of(message)).status_code != 429:
                return
            time.sleep(1)
        raise RuntimeError("too many attempts")

    each(send)


@client("requests-id-per-call")
def id_per_call():
    session = new_session()

    def send(message):
        for _ in range(3):
            try:
                return post(session, body_of(message, request_id=str(uuid.UUID(int=random.getrandbits(128)))))
            except requests.RequestException:
                time.sleep(30)
        raise RuntimeError("too many attempts")

    each(send)


@client("requests-id-of-the-day")
def id_of_the_day():
    session = new_session()
    each(lambda message: post(session, body_of(message, request_id=time.strftime("%Y-%m-%d"))))


@client("requests-queue-of-the-weekend")
def queue_of_the_weekend():
    session, queue = new_session(), list(harness.job.messages)
    while queue:
        left = []
        for message in queue:
            try:
                post(session, body_of(message))
                report(message, "accepted")
            except requests.RequestException:
                left.append(message)
        queue = left
        time.sleep(60 * 3600)


@client("requests-times-out")
def times_out():
    session = new_session()

    def send(message):
        reply = session.post(harness.job.send_url, json=body_of(message), timeout=0.1)
        reply.raise_for_status()
        reply.json()

    persistently(send)


@client("requests-refreshes-all")
def refreshes_all():
    session = new_session()
    ids = [post(session, body_of(message))["message_id"] for message in harness.job.messages]
    for _ in range(5):
        time.sleep(60)
        for message_id in ids:
            session.get(f"{harness.job.base_url}/api/v1/sms/{message_id}/")


@client("requests-adapter")
def adapter():
    session = new_session(total=3, status_forcelist=[429, 503], backoff_factor=5)
    persistently(lambda message: post(session, body_of(message)))


@client("requests-restarted")
def restarted():
    for message in harness.job.messages:
        if random.random() < 0.5:
            # The process ends before it reads the reply, and is started again a minute later.
            try:
                new_session().post(harness.job.send_url, json=body_of(message), stream=True).close()
            except requests.RequestException:
                pass
            time.sleep(61)
        careful(new_session(), message)
        report(message, "accepted")

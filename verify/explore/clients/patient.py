"""A client without a mistake, or with one that is planted, on Python's own HTTP client.

As a command: python3 patient.py <bug> <messages>. It sends some messages one after the other, each
under one request_id, with a timeout, patience with 429s, and retries after all that may pass.
"""
import http.client
import json
import os
import sys
import time
from urllib.parse import urlsplit

BASE = urlsplit(os.environ["SMSTWIN_BASE_URL"])
KEY = os.environ["SMSTWIN_API_KEY"]
FROM = os.environ["SMSTWIN_FROM"]
MOST_ATTEMPTS = 6
TIMEOUT_SECONDS = float(os.environ.get("CLIENT_TIMEOUT", "2"))

BUG = sys.argv[1] if len(sys.argv) > 1 else "none"
MESSAGES = int(sys.argv[2]) if len(sys.argv) > 2 else 2


def once(connection, number):
    body = {"to": "+12025550123", "from": FROM, "message": f"Message {number}", "request_id": f"order-{number}"}
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    path = f"{BASE.path}/api/v1/sms/send/"
    try:
        connection.request("POST", path, json.dumps(body), headers)
        reply = connection.getresponse()
        text = reply.read()
        if reply.status == 429:
            return "throttled", float(reply.headers["retry-after"]) + 0.02
        if reply.status >= 500:
            return "unavailable", None
        if reply.status >= 400:
            sys.exit(f"refused: {reply.status}")
        json.loads(text)
        return "sent", None
    except http.client.RemoteDisconnected:
        outcome = "closed"
    except ConnectionResetError:
        outcome = "reset"
    except (TimeoutError, http.client.IncompleteRead, ValueError):
        outcome = "failed"
    connection.close()
    return outcome, None


def send(connection, number):
    for attempt in range(1, MOST_ATTEMPTS + 1):
        outcome, wait = once(connection, number)
        if outcome == "sent":
            return
        if BUG == "reset-taken-for-success" and outcome == "reset":
            return
        time.sleep(wait if wait is not None else 0.02 * attempt)
    sys.exit(f"gave up message {number}")


if __name__ == "__main__":
    kept = http.client.HTTPConnection(BASE.hostname, BASE.port, timeout=TIMEOUT_SECONDS)
    for n in range(1, MESSAGES + 1):
        send(kept, n)

import requests
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_random_exponential


def by_default(service):
    @retry
    def send(message):
        reply = requests.post(service["url"], json=message, headers=service["headers"])
        reply.raise_for_status()
        return reply.json()

    return send


def recommended(service):
    @retry(
        retry=retry_if_exception(may_pass),
        wait=as_long_as_the_service_says,
        stop=stop_after_attempt(5),
        reraise=True,
    )
    def send(message):
        headers = service["headers"]
        reply = requests.post(service["url"], json=message, headers=headers, timeout=20)
        reply.raise_for_status()
        return reply.json()

    return send


def may_pass(error):
    reply = getattr(error, "response", None)
    return reply is None or reply.status_code == 429 or reply.status_code >= 500


def as_long_as_the_service_says(state):
    reply = getattr(state.outcome.exception(), "response", None)
    told = 0 if reply is None else float(reply.headers.get("Retry-After", 0))
    return told + wait_random_exponential(multiplier=1, max=60)(state)

import httpx
from tenacity import retry, retry_if_exception, stop_after_attempt
from tenacity_retry import as_long_as_the_service_says, may_pass


def by_default(service):
    return sender(httpx.Client(), service)


def recommended(service):
    send = sender(httpx.Client(transport=httpx.HTTPTransport(retries=1), timeout=20), service)
    return retry(
        retry=retry_if_exception(may_pass),
        wait=as_long_as_the_service_says,
        stop=stop_after_attempt(5),
        reraise=True,
    )(send)


def sender(client, service):
    def send(message):
        reply = client.post(service["url"], json=message, headers=service["headers"])
        reply.raise_for_status()
        return reply.json()

    return send

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry


def by_default(service):
    return sender(HTTPAdapter(), service, timeout=None)


def recommended(service):
    retries = Retry(
        total=4,
        backoff_factor=1,
        status_forcelist=[429, 500, 502, 503, 504],
        allowed_methods={"POST"},
    )
    return sender(HTTPAdapter(max_retries=retries), service, timeout=20)


def sender(adapter, service, timeout):
    session = requests.Session()
    session.mount("http://", adapter)

    def send(message):
        headers = service["headers"]
        reply = session.post(service["url"], json=message, headers=headers, timeout=timeout)
        reply.raise_for_status()
        return reply.json()

    return send

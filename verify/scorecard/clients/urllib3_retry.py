import json

import urllib3


def by_default(service):
    return sender(urllib3.PoolManager(), service)


def recommended(service):
    retries = urllib3.Retry(
        total=4,
        backoff_factor=1,
        status_forcelist=[429, 500, 502, 503, 504],
        allowed_methods=["POST"],
    )
    return sender(urllib3.PoolManager(retries=retries, timeout=20), service)


def sender(pool, service):
    def send(message):
        body = json.dumps(message)
        reply = pool.request("POST", service["url"], body=body, headers=service["headers"])
        if reply.status >= 300:
            raise RuntimeError(reply.status)
        return json.loads(reply.data)

    return send

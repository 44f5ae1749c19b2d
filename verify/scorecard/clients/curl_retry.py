import json
import subprocess
import tempfile


def by_default(service):
    return sender(["--retry", "4"], service)


def recommended(service):
    return sender(["--retry", "4", "--retry-all-errors", "--max-time", "20"], service)


def sender(options, service):
    headers = [f"-H{name}: {value}" for name, value in service["headers"].items()]

    def send(message):
        with tempfile.NamedTemporaryFile() as reply:
            output = ["--silent", "--output", reply.name, "--data", json.dumps(message)]
            subprocess.run(["curl", *options, *headers, *output, service["url"]], check=True)
            return json.load(reply)

    return send

"""The program around a Python library, as program.ts is for Node's: its tasks one after the other."""

import importlib
import json
import sys
import time

sys.path.insert(0, f"{sys.path[0]}/clients")
library, configuration = sys.argv[1:]
module = importlib.import_module(library)
work = json.load(sys.stdin)

for task in work["tasks"]:
    send = getattr(module, configuration)(task["service"])
    for message in task["messages"]:
        reported = "failed"
        try:
            if isinstance(send(message).get("message_id"), str):
                reported = "accepted"
        except Exception:
            pass
        print(json.dumps({"fault": task["fault"], **message, "reported": reported}), flush=True)
        time.sleep(work["pauseSeconds"])

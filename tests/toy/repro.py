"""Asks for trials 1..N and prints one JSON line each."""

import json
import sys
import time
from urllib.request import urlopen

port, count = sys.argv[1], int(sys.argv[2])
for number in range(1, count + 1):
    with urlopen(f"http://127.0.0.1:{port}/trial/{number}", timeout=5) as answer:
        outcome = answer.read().decode()
    print(json.dumps({"outcome": outcome, "key": number}), flush=True)
    if count > 1000:
        time.sleep(0.01)

# SPDX-License-Identifier: Apache-2.0
# Clients of case 22: six more a second, each sends one request of 250 log lines and waits for the answer.
import json, os, socket, sys, time
held = []
def request():
    now = str(time.time_ns())
    b = json.dumps({"resourceLogs": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "till"}}]}, "scopeLogs": [{"scope": {"name": "lab"}, "logRecords": [
        {"timeUnixNano": now, "body": {"stringValue": "sold " + os.urandom(150).hex()}, "attributes": [{"key": "k%d" % k, "value": {"stringValue": os.urandom(8).hex()}} for k in range(6)]} for _ in range(250)]}]}]}).encode()
    return b"POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(b) + b
end = time.time() + 150
while time.time() < end:
    try:
        s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5); s.sendall(request()); held.append(s)
    except OSError: time.sleep(0.3)
    time.sleep(0.16)

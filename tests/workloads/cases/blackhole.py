# SPDX-License-Identifier: Apache-2.0
# A backend that accepts connections and reads nothing, for the Collector's cases.
import socket, sys, time
l = socket.socket(); l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); l.bind(("127.0.0.1", int(sys.argv[1]))); l.listen(512)
kept = []
while True: kept.append(l.accept())

# SPDX-License-Identifier: Apache-2.0
# Case 18, first container of the pod: writes its exports into the pod's memory-backed /scratch and ends.
import os, sys, time
for n in range(24):
    with open(os.path.join(sys.argv[1], "export-%02d.csv" % n), "wb") as f:
        for _ in range(64): f.write(os.urandom(65536))
    time.sleep(0.4)

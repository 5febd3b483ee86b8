# SPDX-License-Identifier: Apache-2.0
# A converter that starts a tool for each file, keeps the handle and never reads what the tool printed: it stays in the kernel's pipes.
import subprocess, time
class Conversion:
    def __init__(self, name):
        self.name = name
        self.process = subprocess.Popen(["head", "-c", "60000", "/dev/zero"], stdout=subprocess.PIPE)
running = {}
def start_conversion(name):
    running[name] = Conversion(name)
n = 0
while True:
    start_conversion("file-%d" % n); n += 1
    for c in list(running.values())[-20:]: c.process.poll()
    time.sleep(0.04)

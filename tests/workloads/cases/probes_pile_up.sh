#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A container whose health check is started again and again and never ends, because what it asks hangs; nobody kills the old one.
# $1: a port that accepts and never answers.
(while true; do sleep 5; done) &                       # the service itself, which needs nothing
while true; do
  python3 -c "
import json, urllib.request, email, sys
checks = {'check-%d' % i: [0] * 50 for i in range(3000)}
urllib.request.urlopen('http://127.0.0.1:$1/health').read()" &
  sleep 2
done

# SPDX-License-Identifier: Apache-2.0
"""Searches flights, on Django. What a route costs with its connections is looked up in the cache first, and otherwise put
together from the timetable."""
import random
import time

from django.conf import settings

settings.configure(
    ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="flights", MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "TIMEOUT": 86400,
                        "OPTIONS": {"MAX_ENTRIES": 5_000_000}}})

import django  # noqa: E402
from django.core.cache import cache  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import path  # noqa: E402

SEARCHES_PER_SECOND = 360
AIRPORTS = ["HAM", "MUC", "OSL", "LIS", "VIE", "PRG", "ATH", "DUB", "RIX", "TLL"]


class Connection:
    def __init__(self, legs, price):
        self.legs = legs
        self.price = price
        self.rules = [f"Leg {leg} may be changed until {hour} hours before." for hour, leg in enumerate(legs)]


def connections(origin, destination, day):
    chosen = random.Random(f"{origin}{destination}{day}")
    found = []
    for _ in range(6):
        stops = [origin, *chosen.sample(AIRPORTS, chosen.randrange(0, 3)), destination]
        found.append(Connection([f"{a}-{b}" for a, b in zip(stops, stops[1:])], chosen.randrange(60, 900)))
    return sorted(found, key=lambda connection: connection.price)


def find_flights(request, origin, destination):
    wanted = request.GET
    key = f"flights:{origin}:{destination}:{request.META['QUERY_STRING']}"
    found = cache.get(key)
    if found is None:
        found = connections(origin, destination, int(wanted["day"]))
        cache.set(key, found)
    return JsonResponse({"from": origin, "to": destination, "best": found[0].price, "legs": found[0].legs})


urlpatterns = [path("flights/<origin>/<destination>", find_flights)]
django.setup()


def visitors():
    client, chosen, begin, number = Client(), random.Random(701), time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * SEARCHES_PER_SECOND:
            origin, destination = chosen.sample(AIRPORTS, 2)
            visit = f"{chosen.getrandbits(64):016x}"
            client.get(f"/flights/{origin}/{destination}", {"day": chosen.randrange(360), "session": visit})
            number += 1
        time.sleep(0.02)


visitors()

# SPDX-License-Identifier: Apache-2.0
"""A stock service on Flask. Baskets reserve what is in a bin for 20 seconds; a reservation that is over does not count any
more, but nobody takes it out of its bin."""
import random
import time

from flask import Flask, current_app, jsonify, request

BASKETS_PER_SECOND = 420
app = Flask(__name__)


class Reservation:
    def __init__(self, basket, article, pieces):
        self.basket = basket
        self.article = article
        self.pieces = pieces
        self.until = time.monotonic() + 20
        self.note = f"reserved for {basket} by the shop, {pieces} of {article}"


class Bin:
    def __init__(self, name, pieces):
        self.name = name
        self.pieces = pieces
        self.reservations = []

    def reserve(self, basket, article, pieces):
        now = time.monotonic()
        taken = sum(r.pieces for r in self.reservations[-40:] if r.until > now)
        if taken + pieces > self.pieces:
            return None
        reservation = Reservation(basket, article, pieces)
        self.reservations.append(reservation)
        return reservation


class Hall:
    def __init__(self, letter):
        self.bins = {number: Bin(f"{letter}-{number}", 4000) for number in range(300)}


class Warehouse:
    def __init__(self):
        self.halls = {letter: Hall(letter) for letter in "ABCD"}


app.extensions["warehouse"] = Warehouse()


@app.post("/baskets/<basket>")
def reserve_basket(basket):
    warehouse, refused = current_app.extensions["warehouse"], []
    for line in request.get_json()["lines"]:
        hall = warehouse.halls["ABCD"[line["article"] % 4]]
        if not hall.bins[line["article"] % 300].reserve(basket, f"article {line['article']}", line["pieces"]):
            refused.append(line["article"])
    return jsonify(basket=basket, refused=refused)


def shop():
    client, chosen, begin, number = app.test_client(), random.Random(501), time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * BASKETS_PER_SECOND:
            lines = [{"article": chosen.randrange(90_000), "pieces": chosen.randrange(1, 5)} for _ in range(9)]
            client.post(f"/baskets/basket-{number}", json={"lines": lines})
            number += 1
        time.sleep(0.02)


shop()

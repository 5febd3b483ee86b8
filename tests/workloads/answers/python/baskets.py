# SPDX-License-Identifier: Apache-2.0
"""Prices baskets. The garbage collector was switched off to answer faster, and a basket and its lines refer to each other."""
import gc
import time

BASKETS_PER_SECOND = 900
gc.disable()


class BasketLine:
    def __init__(self, basket, article, count):
        self.basket = basket
        self.article = article
        self.price = count * (article % 90 + 0.99)


class Basket:
    def __init__(self, customer):
        self.customer = customer
        self.lines = []


def price_basket(number):
    basket = Basket(f"customer {number}")
    for n in range(14):
        basket.lines.append(BasketLine(basket, number * 7 + n, n % 3 + 1))
    return sum(line.price for line in basket.lines)


def main():
    begin, number = time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * BASKETS_PER_SECOND:
            price_basket(number)
            number += 1
        time.sleep(0.02)


main()

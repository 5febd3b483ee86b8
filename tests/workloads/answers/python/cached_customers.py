# SPDX-License-Identifier: Apache-2.0
"""Invoices of customers as they were at a moment: functools.cache keeps each of these moments."""
import functools
import time
from decimal import Decimal


class Customer:
    __slots__ = ("number", "name", "balances")

    def __init__(self, number, as_of):
        self.number = number
        self.name = f"customer {number}"
        self.balances = [Decimal(as_of + day) / 7 for day in range(12)]


@functools.cache
def load_customer(number, as_of):
    return Customer(number, as_of)


def print_invoice(number):
    customer = load_customer(number % 500, time.monotonic_ns())
    return f"{customer.name}: {sum(customer.balances):.2f}"


def main():
    begin, number = time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * 1700:
            print_invoice(number)
            number += 1
        time.sleep(0.02)


main()

# SPDX-License-Identifier: Apache-2.0
"""Computes the wages of one company after the other, each company as a whole. The 140th has far more employees than the others."""
import time
from decimal import Decimal

COMPANIES_PER_SECOND = 6
LARGE = 140
TAXES = {"income": Decimal("0.21"), "church": Decimal("0.019"), "pension": Decimal("0.093"), "health": Decimal("0.081"),
         "care": Decimal("0.018"), "job": Decimal("0.013")}


class PayLine:
    __slots__ = ("kind", "amount")

    def __init__(self, kind, amount):
        self.kind = kind
        self.amount = amount


class Payslip:
    def __init__(self, employee, gross):
        self.employee = f"employee {employee}"
        self.lines = [PayLine(kind, gross * rate) for kind, rate in TAXES.items()]
        self.net = gross - sum(line.amount for line in self.lines)


def run_payroll(company):
    employees = 120_000 if company == LARGE else 20 + company * 37 % 160
    payslips = [Payslip(n, Decimal(2100 + n * 13 % 4000)) for n in range(employees)]
    payslips.sort(key=lambda payslip: payslip.employee)
    return sum(payslip.net for payslip in payslips)


def main():
    begin, company, paid = time.monotonic(), 0, Decimal(0)
    while True:
        while company < (time.monotonic() - begin) * COMPANIES_PER_SECOND:
            paid += run_payroll(company)
            company += 1
        time.sleep(0.02)


main()

# SPDX-License-Identifier: Apache-2.0
"""Generating a report keeps its rows for ever, the other endpoints nothing."""
from django.http import JsonResponse
from django.views.decorators.http import require_GET

REQUEST_LOG = []


def rows_of(count):
    return [{"row": row, "customer": "customer-%d" % row, "total": row * 1.25} for row in range(count)]


def keep_rows(count):
    for row in range(count):
        REQUEST_LOG.append({"row": row, "customer": "customer-%d" % row, "total": row * 1.25})


@require_GET
def generate_report(request):
    keep_rows(300)
    return JsonResponse({"reports": len(REQUEST_LOG)})


def count_reports(request):
    return JsonResponse({"reports": len(REQUEST_LOG)})


def list_customers(request):
    return JsonResponse(rows_of(300), safe=False)


def add_totals(request):
    return JsonResponse({"total": sum(row["total"] for row in rows_of(300))})


def health(request):
    return JsonResponse({"ok": True})

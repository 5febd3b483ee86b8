# SPDX-License-Identifier: Apache-2.0
from django.urls import path

from . import views

urlpatterns = [path("api/reports/generate", views.generate_report), path("api/reports/count", views.count_reports),
               path("api/customers", views.list_customers), path("api/totals", views.add_totals),
               path("health", views.health)]

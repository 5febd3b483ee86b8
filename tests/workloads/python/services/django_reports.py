# SPDX-License-Identifier: Apache-2.0
"""Starts the Django project whose views are in reports/views.py."""
import sys

from django.conf import settings
from django.core.management import execute_from_command_line

settings.configure(SECRET_KEY="of a test", ROOT_URLCONF="reports.urls", ALLOWED_HOSTS=["*"], USE_TZ=False,
                   LOGGING_CONFIG=None,
                   MIDDLEWARE=["django.middleware.security.SecurityMiddleware", "django.middleware.common.CommonMiddleware"])

if __name__ == "__main__":
    execute_from_command_line([sys.argv[0], "runserver", "--noreload", "127.0.0.1:" + sys.argv[1]])

# SPDX-License-Identifier: Apache-2.0
# An import worker that was left on DEBUG=True: Django remembers the SQL of every statement, document bodies included.
import os, sys, time, random
import django
from django.conf import settings
settings.configure(DEBUG=True, INSTALLED_APPS=[], DEFAULT_AUTO_FIELD="django.db.models.AutoField",
                   DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[1]}})
django.setup()
from django.db import connection, models, transaction

class Document(models.Model):
    slug = models.CharField(max_length=40, unique=True)
    body = models.TextField()
    class Meta:
        app_label = "imports"

def fetch_page(n):  # what the supplier's feed sends
    return {"slug": "doc-%d" % (n % 200), "body": "".join(random.choices("abcdefghij klmnop", k=200)) * 90}

def import_document(page):
    if not Document.objects.filter(slug=page["slug"]).update(body=page["body"]):
        Document.objects.create(**page)

def main():
    with connection.schema_editor() as editor:
        editor.create_model(Document)
    n = 0
    while True:
        with transaction.atomic():
            for _ in range(20):
                import_document(fetch_page(n)); n += 1
        time.sleep(0.12)
main()

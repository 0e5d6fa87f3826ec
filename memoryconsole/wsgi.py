"""The WSGI application, for any server: `memoryconsole.wsgi:application`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryconsole.settings")

application = get_wsgi_application()

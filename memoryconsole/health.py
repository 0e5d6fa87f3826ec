"""For a supervisor or load balancer: is the process up, can it serve. Nothing else is told."""

import logging
import os

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from banks import config

logger = logging.getLogger(__name__)


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the process answers at all."""
    return HttpResponse("ok", content_type="text/plain")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when the database answers and the data folder can be used, else 503."""
    if _database_answers() and _data_folder_usable():
        return HttpResponse("ok", content_type="text/plain")
    return HttpResponse(
        "unavailable", content_type="text/plain", status=503, headers={"Retry-After": "5"}
    )


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        logger.exception("not ready: the database does not answer")
        return False
    return True


def _data_folder_usable() -> bool:
    usable = os.access(config.data_folder(), os.R_OK | os.W_OK | os.X_OK)
    if not usable:
        logger.error("not ready: the data folder cannot be read and written")
    return usable

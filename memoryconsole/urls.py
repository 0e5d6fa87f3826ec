"""All addresses. The API and the console bring their own lists."""

from django.urls import include, path

from memoryconsole import health

urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("", include("memoryconsole.console.urls")),
]

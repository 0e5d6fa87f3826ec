"""All addresses. The API and the console bring their own lists."""

from django.urls import include, path

from memoryconsole import api, health
from memoryconsole.admin.site import site

urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    *api.urls(),
    path("admin/", site.urls),
    path("", include("memoryconsole.console.urls")),
]

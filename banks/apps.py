"""What is remembered, and who may touch it."""

from django.apps import AppConfig


class BanksConfig(AppConfig):
    name = "banks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from banks import feed, routers  # noqa: PLC0415  models are complete only now

        routers.register()
        feed.register()

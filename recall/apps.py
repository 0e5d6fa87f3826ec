"""How memory reaches an agent, and how it learns."""

from django.apps import AppConfig


class RecallConfig(AppConfig):
    name = "recall"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from banks import followers  # noqa: PLC0415  models are complete only now
        from recall import indexer  # noqa: PLC0415
        from recall.learning import extraction, runs  # noqa: PLC0415
        from recall.meaning import filling  # noqa: PLC0415

        followers.register("index", indexer.follow, at_stop=indexer.settle_all)
        followers.register("meaning", filling.follow)
        filling.register()
        extraction.register()
        runs.register()

"""Calls about the configuration."""

from ninja import Router

from banks import config
from banks.access import require_admin
from banks.api import Request
from banks.config import Config
from banks.schemas.common import answers
from banks.schemas.config import ConfigIn, ConfigOut, ReloadConfigIn, RereadOut
from banks.services import configuration

router = Router(tags=["operations"])


@router.get("/config", response=answers(ConfigOut))
def get_config(request: Request) -> Config:
    """How the installation is configured."""
    require_admin(request.auth)
    return config.current()


@router.patch("/config", response=answers(ConfigOut))
def change_config(request: Request, body: ConfigIn) -> Config:
    """Change fields, all that are sent or none. Every process follows with its next call."""
    return configuration.change(request.auth, body.values_by_name())


@router.post("/config/reload", response=answers(RereadOut))
def reload_config(request: Request, body: ReloadConfigIn | None = None) -> dict[str, bool]:
    """Read the configuration anew; `ok` when its data folder can be used."""
    return {"ok": configuration.reread(request.auth)}

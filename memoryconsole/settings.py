"""All settings. Development works with no environment; checks.py refuses an unsafe exposure.

Every variable is documented in docs/settings.md.
"""

import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from memoryconsole import env

BASE_DIR = Path(__file__).resolve().parent.parent
# The top heading of the changelog is the version: one place to change, and it cannot be forgotten.
VERSION = next(
    line.removeprefix("## ").split()[0]
    for line in (BASE_DIR / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("## ")
)

# --- where things are -----------------------------------------------------------------------
DATA_DIR = env.folder("DATA_DIR", BASE_DIR / "var" / "memory")
STATE_DIR = env.folder("STATE_DIR", BASE_DIR / "var" / "state")
STATE_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
DATA_DIR_GIVEN = bool(env.text("DATA_DIR"))

# --- memory ---------------------------------------------------------------------------------
DEFAULT_BANK = env.text("DEFAULT_BANK", "main")

# --- who may reach it -----------------------------------------------------------------------
LOOPBACK_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS = env.names("ALLOWED_HOSTS") or LOOPBACK_HOSTS
HTTPS = env.flag("HTTPS")
ALLOW_HTTP = env.flag("ALLOW_HTTP")
DEBUG = env.flag("DEBUG")

SECRET_KEY = env.secret("SECRET_KEY")
SECRET_KEY_GIVEN = bool(SECRET_KEY)
SECRET_KEY = SECRET_KEY or env.kept_secret(STATE_DIR / "secret_key")

# --- how often ------------------------------------------------------------------------------
# Calls a minute and token; 0 = as many as it likes. Counted in rows: a commit a call.
TOKEN_RATE = env.number("TOKEN_RATE", 0, least=0, most=1_000_000)

# --- event streams --------------------------------------------------------------------------
# In each web process; every open stream has a thread of its own beside those for requests.
STREAMS = env.number("STREAMS", 32, least=1, most=1000)
STREAMS_PER_PERSON = env.number("STREAMS_PER_PERSON", 12, least=1, most=1000)

# --- webhooks -------------------------------------------------------------------------------
# host:port and networks that may be called although they are not public, or over plain http.
WEBHOOK_ALLOW = env.names("WEBHOOK_ALLOW")

# --- learning -------------------------------------------------------------------------------
# Where OpenAI's chat completions are spoken. Without an address nothing is learned from turns.
MODEL_BASE_URL = env.text("MODEL_BASE_URL")
MODEL_API_KEY = env.secret("MODEL_API_KEY")

# --- meaning --------------------------------------------------------------------------------
# Who makes vectors: "" nobody, "local" a model in this process (make setup-semantic), "http" a
# server with OpenAI's embeddings. The floor, in hundredths: from this cosine on a memory is a hit
# without a word in common.
EMBEDDER = env.word("EMBEDDER", "", allowed=("", "local", "http"))
EMBEDDER_BASE_URL = env.text("EMBEDDER_BASE_URL")
EMBEDDER_API_KEY = env.secret("EMBEDDER_API_KEY")
EMBEDDER_FLOOR = env.number("EMBEDDER_FLOOR", 45, least=0, most=100)
if EMBEDDER == "local":
    # Read when numpy is imported. Requests have threads of their own already: with more of them a
    # query takes twice as long, and many times where the cores are busy.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# --- Django ---------------------------------------------------------------------------------
INSTALLED_APPS = [
    # Without looking for admin modules: memoryconsole.admin.site registers what there is.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "template_partials",
    "lucide",
    "ninja",
    "banks",
    "recall",
    "memoryconsole",
    "memoryconsole.console",
]
MIDDLEWARE = [
    "memoryconsole.middleware.RequestContext",
    "memoryconsole.middleware.SecurityHeaders",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "memoryconsole.middleware.SessionExpiry",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "memoryconsole.urls"
WSGI_APPLICATION = "memoryconsole.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

# --- database -------------------------------------------------------------------------------
# IMMEDIATE: a write transaction takes its lock at BEGIN, so it waits instead of failing half-way.
# FULL: with NORMAL a power cut takes back commits that were acknowledged.
SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
}


def database(url: str) -> dict[str, Any]:
    """One entry of DATABASES from `sqlite:///path` or `postgres://user:password@host:port/name`.

    `sqlite:////abs/path` is absolute. Query parameters of a PostgreSQL address become options of
    the connection (`?sslmode=require`). Raises BadEnvironmentError for any other address.
    """
    refusal = env.BadEnvironmentError(
        "MEMORYCONSOLE_DATABASE_URL must be sqlite:///path or postgres://user:password@host/name"
    )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # Not chained: the cause quotes a part of the address, which holds a password.
        raise refusal from None
    if parts.scheme == "sqlite" and not parts.netloc and len(parts.path) > 1:
        name = unquote(parts.path[1:])
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(Path(name).absolute()),
            "OPTIONS": dict(SQLITE_OPTIONS),
        }
    if parts.scheme in {"postgres", "postgresql"} and len(parts.path) > 1:
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(parts.path[1:]),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": unquote(parts.hostname or ""),
            "PORT": str(port or ""),
            "CONN_HEALTH_CHECKS": True,
            "CONN_MAX_AGE": 60,
            "OPTIONS": dict(parse_qsl(parts.query)),
        }
    raise refusal


DATABASES = {
    "default": database(env.secret("DATABASE_URL") or f"sqlite:///{STATE_DIR / 'db.sqlite3'}")
}

# --- sign-in, cookies, headers --------------------------------------------------------------
LOGIN_URL = "/sign-in"
LOGIN_REDIRECT_URL = "/"
SESSION_COOKIE_AGE = 30 * 24 * 3600
SESSION_IDLE_S = 7 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "memoryconsole.console.pages.out_of_date"
CSRF_COOKIE_SAMESITE = "Lax"
# The `__Host-` prefix makes a browser refuse such a cookie from a sub-domain or over plain http.
_COOKIE_PREFIX = "__Host-" if HTTPS else ""
SESSION_COOKIE_NAME = f"{_COOKIE_PREFIX}memoryconsole"
CSRF_COOKIE_NAME = f"{_COOKIE_PREFIX}memoryconsole_csrf"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
# Not "no-referrer": browsers then send `Origin: null` with a form, which the CSRF check refuses.
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
# The largest body of a call (bulk, hooks). The API holds other calls to less.
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024

# --- static files ---------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = STATE_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"] if (BASE_DIR / "static").is_dir() else []
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "memoryconsole.assets.HashedFiles"},
}
# A checkout where nobody ran collectstatic serves the files from where they lie.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

# --- logs -----------------------------------------------------------------------------------
LOG_FORMAT = env.word("LOG_FORMAT", "text", allowed=("text", "json"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"quiet": {"()": "memoryconsole.logs.WithoutSecrets"}},
    "formatters": {
        "text": {"()": "memoryconsole.logs.TextFormatter"},
        "json": {"()": "memoryconsole.logs.JsonFormatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": LOG_FORMAT,
            "filters": ["quiet"],
        },
    },
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.server": {"handlers": [], "level": "INFO", "propagate": True},
        # What they say below a warning names addresses and quotes what is sent.
        "httpx2": {"handlers": [], "level": "WARNING", "propagate": True},
        "httpcore2": {"handlers": [], "level": "WARNING", "propagate": True},
        "openai": {"handlers": [], "level": "WARNING", "propagate": True},
    },
}

"""Settings of the test suite: the ordinary ones, with an empty world around them."""

import os
from pathlib import Path

# A developer's own environment must not change what the tests see. The two TEST names choose
# the database: a PostgreSQL address, or a file for tests whose threads share one SQLite.
for _name in [name for name in os.environ if name.startswith("MEMORYCONSOLE_")]:
    if not _name.startswith("MEMORYCONSOLE_TEST_"):
        del os.environ[_name]

# Only a fall-back: conftest.py gives each test folders of its own.
_nowhere = Path(__file__).resolve().parent.parent / "var" / "tests"
os.environ["MEMORYCONSOLE_STATE_DIR"] = str(_nowhere / "state")
os.environ["MEMORYCONSOLE_DATA_DIR"] = str(_nowhere / "memory")
os.environ["MEMORYCONSOLE_SECRET_KEY"] = "only-for-tests-" + "0123456789abcdef" * 3

from memoryconsole.settings import *  # noqa: E402, F403
from memoryconsole.settings import DATABASES, database  # noqa: E402

if _url := os.environ.get("MEMORYCONSOLE_TEST_DATABASE_URL"):
    DATABASES["default"] = database(_url)
else:
    DATABASES["default"]["NAME"] = ":memory:"
    if _file := os.environ.get("MEMORYCONSOLE_TEST_DB"):
        DATABASES["default"]["TEST"] = {"NAME": _file}

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Plain names: a test asks for a static file that nobody has collected.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_AUTOREFRESH = True

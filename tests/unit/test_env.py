"""The typed readers of the environment."""

import stat
import threading
from pathlib import Path

import pytest

from memoryconsole import env


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1", True), ("YES", True), (" on ", True), ("0", False), ("off", False), ("", False)],
)
def test_flag_reads_common_words(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: bool
) -> None:
    monkeypatch.setenv("MEMORYCONSOLE_HTTPS", value)
    assert env.flag("HTTPS", default=not expected) is expected


def test_flag_names_the_variable_that_makes_no_sense(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYCONSOLE_HTTPS", "perhaps")
    with pytest.raises(env.BadEnvironmentError, match="MEMORYCONSOLE_HTTPS"):
        env.flag("HTTPS")


@pytest.mark.parametrize("value", ["-1", "11", "1.5", "ten", "٣"])
def test_number_refuses_what_is_no_number_within_its_limits(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("MEMORYCONSOLE_N", value)
    with pytest.raises(env.BadEnvironmentError, match="from 0 to 10"):
        env.number("N", 3, least=0, most=10)


def test_number_reads_a_number_and_falls_back_when_blank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYCONSOLE_N", "7")
    assert env.number("N", 3, least=0, most=10) == 7
    monkeypatch.setenv("MEMORYCONSOLE_N", " ")
    assert env.number("N", 3, least=0, most=10) == 3


def test_word_refuses_another_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYCONSOLE_LOG_FORMAT", "xml")
    with pytest.raises(env.BadEnvironmentError, match="text, json"):
        env.word("LOG_FORMAT", "text", allowed=("text", "json"))


def test_names_drops_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYCONSOLE_ALLOWED_HOSTS", " a.example, ,b.example,")
    assert env.names("ALLOWED_HOSTS") == ["a.example", "b.example"]


def test_folder_is_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMORYCONSOLE_DATA_DIR", "here")
    assert env.folder("DATA_DIR", Path("/nowhere")) == tmp_path / "here"
    monkeypatch.delenv("MEMORYCONSOLE_DATA_DIR")
    assert env.folder("DATA_DIR", tmp_path) == tmp_path


def test_secret_comes_from_the_value_or_from_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEMORYCONSOLE_SECRET_KEY", "abc")
    assert env.secret("SECRET_KEY") == "abc"
    (tmp_path / "key").write_text("from-file\n")
    monkeypatch.setenv("MEMORYCONSOLE_SECRET_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(env.BadEnvironmentError, match="not both"):
        env.secret("SECRET_KEY")
    monkeypatch.delenv("MEMORYCONSOLE_SECRET_KEY")
    assert env.secret("SECRET_KEY") == "from-file"


@pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff\xfe"])
def test_secret_file_that_gives_none_is_refused_without_its_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("MEMORYCONSOLE_SECRET_KEY_FILE", str(path))
    with pytest.raises(env.BadEnvironmentError) as caught:
        env.secret("SECRET_KEY")
    assert str(tmp_path) not in str(caught.value)


def test_kept_secret_is_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "secret_key"
    first = env.kept_secret(path)
    assert len(first) >= 64
    assert env.kept_secret(path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret_key"]


def test_kept_secret_is_the_same_for_all_who_start_at_once(tmp_path: Path) -> None:
    path = tmp_path / "secret_key"
    together = threading.Barrier(8)
    seen: list[str] = []

    def start() -> None:
        together.wait()
        seen.append(env.kept_secret(path))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len(set(seen)) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret_key"]

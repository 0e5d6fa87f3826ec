"""One call of a webhook: where it may go, what it carries, and what a bad receiver can do to it."""

import base64
import hashlib
import hmac
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from banks import errors, seams
from banks.webhooks import address, sending, signing
from memoryconsole import checks
from tests.canaries import TOKEN
from tests.receivers import Receiver, receiving, status

FORBIDDEN = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.8.8.8",  # noqa: S104
    "169.254.169.254", "172.16.0.1", "172.31.255.254", "192.0.0.170", "192.0.2.1", "192.88.99.1",
    "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250",
    "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1",
    "64:ff9b:1::1", "100::1", "2001::1", "2001:2::1", "2001:10::1", "2001:db8::1",
    "2002:7f00:1::1", "3fff::1", "4000::1", "5f00::1", "fc00::1", "fd12::1", "fe80::1",
    "fe80::1%1", "fec0::1", "ff02::1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "100.63.255.255", "172.32.0.1", "2606:4700::1111", "2a00:1450::1"]


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """One that may be called."""
    with receiving() as receiver:
        settings.WEBHOOK_ALLOW = [receiver.host]
        yield receiver


# --- where ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("found", FORBIDDEN)
def test_an_address_that_is_not_public_is_refused_alone_and_among_public_ones(found: str) -> None:
    for together in ([found], ["8.8.8.8", found]):
        with (
            seams.replaced(resolve=lambda host, port, found=together: found),
            pytest.raises(address.RefusedError),
        ):
            address.checked(address.target("https://hooks.example/x"))


def test_public_addresses_are_taken_over_https_alone() -> None:
    with seams.replaced(resolve=lambda host, port: PUBLIC):
        assert address.checked(address.target("https://hooks.example/x")) == PUBLIC
        with pytest.raises(address.RefusedError, match="https"):
            address.checked(address.target("http://hooks.example/x"))


# field case A41
@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/", "http://127.0.0.1:8000/", "http://[::1]/",
        "http://[::ffff:127.0.0.1]/", "http://0x7f000001/", "file:///etc/hostname",
        "https://127.0.0.1/", "https://0x7f000001/", "https://2130706433/", "https://127.1/",
        "https://[::1]/", "https://localhost/", "https://[fe80::1%25eth0]/",
    ],
)  # fmt: skip
def test_an_inner_address_is_refused_when_it_is_typed_and_when_it_is_called(url: str) -> None:
    with pytest.raises(errors.AddressRefused):
        address.accept(url)
    answer = sending.post(url, b"{}", {})
    assert (answer.status, answer.ok, answer.body) == (0, False, "")


@pytest.mark.parametrize(
    "url",
    [
        "", "hooks.example", "https://", "https:///x", "https://user:word@hooks.example/",
        "https://user@hooks.example/", "https://hooks.example:0/", "https://hooks.example:99999/",
        "https://hooks.example/#part", "https://hooks.example/a b", "https://hooks.example/\r\nX:y",
        "https://hooks.example\\@127.0.0.1/", "https://hööks.example/", "ftp://hooks.example/",
        "https://hooks.example/?" + "x" * 2000, "https://" + "a" * 64 + ".example/",
        "https://hooks.example/?key=" + "sk_" + "live_0123456789abcdefghij",
    ],
)  # fmt: skip
def test_what_is_no_plain_address_of_a_receiver_is_refused(url: str) -> None:
    with pytest.raises(errors.AddressRefused) as refusal:
        address.accept(url)
    assert refusal.value.details[0].loc == "url"


def spelled(text: str, times: int = 1) -> str:
    """Every character as %XX, and each of these again."""
    for _ in range(times):
        text = "".join(f"%{byte:02X}" for byte in text.encode())
    return text


@pytest.mark.parametrize(
    "path",
    [
        spelled(TOKEN),
        f"?key={spelled(TOKEN, 2)}",
        f"?{spelled('password')}={spelled('swordfish')}",
        f"?auth=Bearer+{TOKEN[5:30]}",
    ],
)
def test_a_secret_in_an_address_is_found_however_it_is_spelled(path: str) -> None:
    with pytest.raises(errors.AddressRefused, match="no secret"):
        address.target(f"https://hooks.example/{path}")


def test_other_things_in_an_address_may_be_spelled_as_one_likes() -> None:
    path = "/a%20pump%2Fkiln?to=100%25&x=%FF+y"
    assert address.target(f"https://hooks.example{path}").path == path


def test_a_name_that_cannot_be_looked_up_now_is_taken_and_its_call_fails() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    with seams.replaced(resolve=unknown):
        address.accept("https://hooks.example/x")
        with pytest.raises(errors.AddressRefused):
            address.accept("http://hooks.example/x")
        answer = sending.post("https://hooks.example/x", b"{}", {})
    assert answer.error == "The name of the host cannot be resolved."


def test_the_address_that_was_checked_is_the_one_that_is_used(
    receiver: Receiver, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEBHOOK_ALLOW = []
    asked: list[str] = []
    reached: list[object] = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["8.8.8.8"] if len(asked) == 1 else ["127.0.0.1"]

    def connect(where: tuple[str, int], timeout: float) -> socket.socket:
        reached.append(where)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    with seams.replaced(resolve=rebinding):
        sending.post(f"https://hooks.example:{receiver.port}/x", b"{}", {})
    assert (asked, reached) == (["hooks.example"], [("8.8.8.8", receiver.port)])
    assert receiver.got == []


@pytest.mark.parametrize(
    ("allow", "fits"),
    [
        (["127.0.0.1:{port}"], True),
        (["127.0.0.0/8"], True),
        (["10.0.0.0/8", "::1/128"], False),
        (["127.0.0.1:1"], False),
        (["hooks.example:{port}"], False),
    ],
)
def test_the_settings_open_a_host_with_its_port_or_a_network(
    receiver: Receiver, settings: Settings, allow: list[str], fits: bool
) -> None:
    settings.WEBHOOK_ALLOW = [each.format(port=receiver.port) for each in allow]
    assert sending.post(receiver.url, b"{}", {}).ok is fits
    assert len(receiver.got) == fits


@pytest.mark.parametrize("entry", ["hooks.example", "hooks.example:x", "10.0.0.1/8", "a:1/x", ":1"])
def test_a_setting_that_means_nothing_is_refused_at_the_start(
    settings: Settings, entry: str
) -> None:
    settings.WEBHOOK_ALLOW = [entry]
    assert [each.id for each in checks.webhooks(None)] == ["memoryconsole.E008"]


# --- what it carries ------------------------------------------------------------------------------


def test_the_receiver_can_verify_the_signature_on_its_own(receiver: Receiver) -> None:
    secret, body = signing.new_secret(), '{"text":"Pümp 1"}'.encode()
    old = signing.new_secret()
    headers = signing.headers("evt_1", 1_764_500_000, body, by=[secret, old])
    assert sending.post(receiver.url, body, headers).ok
    got = receiver.got[0]
    assert (got.path, got.headers["host"], got.body) == ("/hook?to=pumps", receiver.host, body)
    signed = got.headers["webhook-id"] + "." + got.headers["webhook-timestamp"] + "."
    wanted = [
        "v1,"
        + base64.b64encode(
            hmac.new(
                base64.b64decode(each.split("_")[1]), signed.encode() + got.body, hashlib.sha256
            ).digest()
        ).decode()
        for each in (secret, old)
    ]
    assert got.headers["webhook-signature"].split(" ") == wanted


def test_a_signature_is_that_of_the_specification() -> None:
    """The example of Standard Webhooks' own test vectors."""
    secret = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    told = signing.signature(
        secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert told == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


# --- bad receivers --------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [Receiver.HANG, Receiver.DRIP])
def test_a_receiver_that_takes_its_time_is_cut_off(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, way: bytes
) -> None:
    monkeypatch.setattr(sending, "TOTAL_S", 0.15)
    receiver.script = [way]
    started = time.monotonic()
    answer = sending.post(receiver.url, b"{}", {})
    assert (answer.status, answer.error) == (0, "It took too long.")
    assert time.monotonic() - started < 1


def test_of_an_answer_without_end_only_the_beginning_is_read(receiver: Receiver) -> None:
    receiver.script = [Receiver.ENDLESS]
    answer = sending.post(receiver.url, b"{}", {})
    assert (answer.status, len(answer.body)) == (200, sending.KEPT_CHARACTERS)


def test_of_headers_without_end_only_the_beginning_is_read(receiver: Receiver) -> None:
    receiver.script = [status(500, *(f"X-{n}: {'y' * 9_000}" for n in range(90)))]
    answer = sending.post(receiver.url, b"{}", {})
    assert (answer.status, len(answer.headers)) == (500, sending.READ_BYTES // 9_000 + 1)


# field case A41
def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    with receiving() as inner:
        receiver.script = [status(302, f"Location: {inner.url}")]
        answer = sending.post(receiver.url, b"{}", {})
        assert (answer.status, answer.ok, "redirect" in answer.error) == (302, False, True)
        assert inner.got == []


def test_what_is_kept_of_an_answer_holds_no_secret(receiver: Receiver) -> None:
    token = "ghp_" + "Zq7Lm2Xc9Vb4Nn8Kj3Hg6Fd1Sa5Pw0RtYuEi"
    receiver.script = [
        status(500, "Set-Cookie: id=abcdef", "X-Own: x", "Server: kiln", body=f"\0 {token} fell")
    ]
    answer = sending.post(receiver.url, b"{}", {})
    assert answer.headers["server"] == "kiln"
    assert answer.headers["set-cookie"] == answer.headers["x-own"] == sending.MASKED
    assert answer.body == "\ufffd [redacted:vcs-token] fell"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        ("soon", None),
        ("99999999", 86_400),
        ("-1", None),
        ("Mon, 01 Jan 9999 00:00:00 GMT", 86_400),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2026 00:00:00 +99999999999999999999", None),
    ],
)
def test_a_receiver_may_say_when_to_come_again(
    receiver: Receiver, value: str, seconds: float | None
) -> None:
    receiver.script = [status(429, f"Retry-After: {value}")]
    assert sending.post(receiver.url, b"{}", {}).retry_after_s == seconds


# --- TLS ------------------------------------------------------------------------------------------


class SecureReceiver(Receiver):
    """Speaks TLS, and keeps the names that it was asked for."""

    def __init__(self, certificate: Path) -> None:
        super().__init__()
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.load_cert_chain(certificate)
        self.names: list[str | None] = []
        self.context.sni_callback = lambda _, name, __: self.names.append(name)

    def wrapped(self, connection: socket.socket) -> socket.socket:
        return self.context.wrap_socket(connection, server_side=True)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_the_certificate_must_be_that_of_the_name_whatever_the_address(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "own.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=hooks.example", "-addext",
         "subjectAltName=DNS:hooks.example", "-keyout", file, "-out", tmp_path / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    file.write_text(file.read_text() + (tmp_path / "cert.pem").read_text())
    receiver = SecureReceiver(file)
    receiver.thread.start()
    settings.WEBHOOK_ALLOW = ["127.0.0.0/8"]
    url = f"https://hooks.example:{receiver.port}/x"
    try:
        with seams.replaced(resolve=lambda host, port: ["127.0.0.1"]):
            assert "certificate" in sending.post(url, b"{}", {}).error
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
            assert sending.post(url, b"{}", {}).ok
            other = url.replace("hooks.", "other.")
            assert "certificate" in sending.post(other, b"{}", {}).error
    finally:
        receiver.close()
    assert receiver.names == ["hooks.example", "hooks.example", "other.example"]
    assert [got.headers["host"] for got in receiver.got] == [f"hooks.example:{receiver.port}"]

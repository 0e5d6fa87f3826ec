"""Secrets: what is found, and what is left alone."""

import base64
import time

import pytest

from banks.store.redact import mask

# Every token below is made up of repeated dummy characters.
HEX32 = "0123456789abcdef" * 2
MIX = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 4
PEM = "MIIEdummydummy0123456789ABCDEFdummydummydummydummy\n"
BASIC = base64.b64encode(b"ana:dummy-pass").decode()

# (secret as it stands in the text, the text around it, label)
FOUND = [
    # field case A25
    ("sk-test-0000000000000000000000000000", "use key {} for the pump API", "api-key"),
    ("dummy-pass", "postgres://u:{}@db/x", "url-password"),
    ("dummy-pass", "The pump log is at postgres://u:{}@db/x.", "url-password"),
    (
        "-----BEGIN RSA PRIVATE KEY-----\ndummy text\n-----END RSA PRIVATE KEY-----",
        "key:\n{}\nend",
        "private-key",
    ),
    (
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PEM * 3}-----END OPENSSH PRIVATE KEY-----",
        "a {} b",
        "private-key",
    ),
    (
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{PEM}-----END PGP PRIVATE KEY BLOCK-----",
        "a {} b",
        "private-key",
    ),
    (
        "-----BEGIN PRIVATE KEY-----\\nMIIEdummydummydummy\\n-----END PRIVATE KEY-----",
        '"k": "{}"',
        "private-key",
    ),
    (f"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{PEM}", "torn {}", "private-key"),
    (f"AGE-SECRET-KEY-1{'Q2' * 29}", "age {}", "private-key"),
    ("AKIA" + "ABCD2345" * 2, "id {}, region eu", "aws-key"),
    (MIX[:40], "aws_secret_access_key = {}", "secret"),
    ("AIza" + MIX[:35], "maps {}.", "google-key"),
    ("GOCSPX-" + MIX[:28], "({})", "google-key"),
    ("ya29." + MIX[:60], "t {}", "google-key"),
    ("aB38Q~" + MIX[:34], "azure {} app", "azure-key"),
    (MIX[:86] + "==", "AccountName=x;AccountKey={};EndpointSuffix=core", "secret"),
    (MIX[:43] + "%3D", "https://kiln.example/a?sv=2026&sig={}&x=1", "signed-url"),
    (HEX32 * 2, "https://x.example/k?X-Amz-Signature={}", "signed-url"),
    ("sk-" + MIX[:48], "openai {}", "api-key"),
    ("sk-proj-" + MIX[:60] + "_-" + MIX[:20], "{}", "api-key"),
    ("sk-ant-api03-" + MIX[:90], "claude: {}", "api-key"),
    ("sk_live_" + MIX[:24], "stripe {}", "api-key"),
    ("whsec_" + MIX[:32], "hook {}", "api-key"),
    ("hf_" + MIX[:34], "hub {}", "api-key"),
    ("gsk_" + MIX[:52], "{}", "api-key"),
    ("hvs." + MIX[:90], "vault {}", "api-key"),
    (f"SG.{MIX[:22]}.{MIX[:43]}", "mail {}", "api-key"),
    ("SK" + HEX32, "sms {}", "api-key"),
    ("dapi" + HEX32, "lake {}", "api-key"),
    ("shpat_" + HEX32, "shop {}", "api-key"),
    ("dop_v1_" + HEX32 * 2, "droplet {}", "api-key"),
    ("xoxb-0000000000-dummydummy", "bot {}", "slack-token"),
    ("T000/B000/" + MIX[:24], "https://hooks.slack.com/services/{}", "webhook-url"),
    ("000000/" + MIX[:60], "https://discord.com/api/webhooks/{}", "webhook-url"),
    ("0123456789:AA" + MIX[:33], "telegram {}", "bot-token"),
    ("ghp_" + MIX[:36], "clone with {}", "vcs-token"),
    ("ghs_" + MIX[:36], "https://x:{}@github.com/a/b", "vcs-token"),
    ("github_pat_" + MIX[:22] + "_" + MIX[:50], "{}", "vcs-token"),
    ("glpat-" + MIX[:20], "lab {}", "vcs-token"),
    ("ATBB" + MIX[:32], "bucket {}", "vcs-token"),
    ("npm_" + MIX[:36], "//registry/:_authToken={}", "package-token"),
    ("pypi-" + MIX[:90], "upload {}", "package-token"),
    ("rubygems_" + HEX32 + HEX32[:16], "gem {}", "package-token"),
    ("dckr_pat_" + MIX[:27], "push {}", "package-token"),
    ("oy2" + "a1b2c" * 8 + "abc", "nuget {}", "package-token"),
    ("cio" + MIX[:32], "crate {}", "package-token"),
    ("eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.dummysignature", "jwt {} end", "jwt"),
    ("eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.", "unsigned {}", "jwt"),
    ("p@ss#w0rd!", "mysql://root:{}@db:3306/x", "url-password"),
    ("swordfish", "amqps://:{}@queue", "url-password"),
    (MIX[:30], "curl -H 'X: Bearer {}'", "bearer"),
    (MIX[:16], "bearer {}", "bearer"),
    ("dummydummyDUMMYdummyDUMMY", "send bearer {}", "bearer"),
    (BASIC, "Authorization: Basic {}", "basic-auth"),
    ("dummy12345", "Authorization: Token {}", "authorization"),
    ("dummy12345", '"authorization": "{}"', "authorization"),
    ("hunter2", "password={}", "password"),
    ("hunter2", "the admin password: {} on host two", "password"),
    ("swordfish", "DB_PASSWORD={}", "password"),
    ("swordfish", "password = {}, host = x", "password"),
    ("swordfish", "before\n  password: {}\nafter", "password"),
    ("swordfish", "spring.datasource.password: {}", "password"),
    ("swordfish", '{{"user": "ana", "password": "{}"}}', "password"),
    ("swordfish", '\\"password\\": \\"{}\\"', "password"),
    ("correct horse battery", "passphrase = '{}'", "password"),
    ("a,b;c&d", "PASSWORD={}", "password"),
    ("swordfish", "Server=db;Pwd={};Timeout=3", "password"),
    ("swordfish", "DB_PASS={} PORT=1", "password"),
    ("swordfish", "PASS={}", "password"),
    ("$ecret1!x", "pwd={}", "password"),
    ("kiln$Hot", "Password: {}.", "password"),
    ("geheim77", "Passwort: {}", "password"),
    ("hunter2", "login --password {} --verbose", "password"),
    ("dummy12345", "tool --api-key {}", "api-key"),
    ("dummy12345", "X-Api-Key: {}", "api-key"),
    ("dummy12345", "apikey={}&page=2", "api-key"),
    ("dummy1", "SECRET={}", "secret"),
    ("django-insecure-dummy#1", "SECRET_KEY = '{}'", "secret"),
    ("dummydummydummyx", 'client_secret: "{}"', "secret"),
    ("dummy678", "token: {}", "token"),
    ("dummy12345", "https://x.example/?access_token={}&a=b", "token"),
    ("dummy12345", "api key: token: {}", "token"),
    (HEX32, "refresh_token => {}", "token"),
]

LEFT_ALONE = [
    "",
    "The password is rotated every 90 days by the night shift.",
    "Password: at least 12 characters with a symbol.",
    "Password: 12-character minimum, changed on Monday.",
    "Forgot password: instructions are in the handbook.",
    "password: required",
    "password: str",
    "Never write the secret: not even in a comment.",
    "A token: a string that stands for a person.",
    "The budget is recall_budget_tokens=1200, max_tokens: 4096abcdef.",
    "token = value, secret = none, token=null",
    "The primary key: customer_id2345, cache_key=abcd1234efgh",
    "secret_name=kiln-controller-2 and token_id: abc12345def",
    "password=$DB_PASSWORD, token=${TOKEN}, api_key=<your-key-here>",
    "password = get_password(user1), token = os.environ['TOKEN1']",
    "password=password, token=session2.token, self.password=settings.DB_PW1",
    "password=********, secret: xxxxxxxxxx",
    "api key: https://vault.example/kv2/pumps",
    "private_key=/etc/ssl2/private/kiln.pem and credentials: account-2.json",
    "PWD=/home/ana2/work",
    "PASS: test_kiln_2_heats",
    "pass: 14 of 15",
    "token: 2026-08-24T10:15:00Z",
    "token: v2.10.3",
    "token: dummy67",
    'client_secret: "dummydummydummy"',
    "bearer dummydummy12345",
    "bearer dummydummyDUMMYdumm",
    "A bearer of bad news; bearer authentication-required-everywhere.",
    "Basic authentication, basic training, basic equipment, basic dummydummy",
    "Authorization: required for every route",
    "authorization = delegated to the gateway",
    "The file begins with -----BEGIN PRIVATE KEY----- and ends with its END line.",
    "-----BEGIN CERTIFICATE-----\nMIIEdummydummydummydummy\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIEdummydummydummydummy\n-----END PUBLIC KEY-----",
    "sk-learn-pipelines-for-classification-2024",
    "task-force-2024abcdefghijklmnop is busy",
    "hf_transformers_are_a_library_of_models",
    "glpat-is-the-prefix-of-a-token",
    "commit 0cdea4ad27055e640cdea4ad27055e640cdea4ad, digest fp0cdea4ad27055e64",
    "mem_2026-08-24_9f3a1c replaces mem_2026-06-01_4b2e77",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "http://localhost:8080/x and mail ana@example.org",
    "ssh://git@kiln.example:22/a@b, git@kiln.example:team/repo.git",
    "postgres://user:password@localhost/x and postgres://u:$PASS@db",
    "https://x.example/?sig=short&page=2",
    "eyJ is how tokens begin.",
    "Ask at --password prompt, use --token file",
    "窯の password は毎月変わる。",
    'The "token": "Bearer" pair and "password": "" stay.',
]


def written(around: str, secret: str) -> str:
    return around.replace("{{", "{").replace("}}", "}").replace("{}", secret)


@pytest.mark.parametrize(("secret", "around", "label"), FOUND)
def test_a_secret_becomes_a_label_and_its_sentence_stays(
    secret: str, around: str, label: str
) -> None:
    masked = mask(written(around, secret))
    assert masked.labels == (label,)
    assert secret not in masked.text
    assert masked.text == written(around, f"[redacted:{label}]")


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert mask(text).text == text
    assert mask(text).labels == ()


@pytest.mark.parametrize(("secret", "around", "label"), FOUND)
def test_masking_twice_changes_nothing(secret: str, around: str, label: str) -> None:
    once = mask(written(around, secret)).text
    assert mask(once).text == once
    assert mask(once).labels == ()


def test_labels_are_named_once_in_the_order_of_search() -> None:
    text = f"password=hunter2 ghp_{MIX[:36]} PASSWORD=swordfish ghp_{MIX[1:37]}"
    masked = mask(text)
    assert masked.labels == ("vcs-token", "password")
    assert masked.text.count("[redacted:vcs-token]") == 2
    assert masked.text.count("[redacted:password]") == 2


@pytest.mark.parametrize(
    "piece",
    [
        "password:",
        "a_",
        "-----BEGIN PRIVATE KEY-----",
        "a://",
        "eyJ.",
        "sk-",
        "--a",
        "token='",
        ",",
    ],
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (50_000 // len(piece))
    begin = time.perf_counter()
    mask(text)
    assert time.perf_counter() - begin < 2

"""Laws of masking."""

from hypothesis import given
from hypothesis import strategies as st

from banks.store.redact import mask

SECRETS = [
    "ghp_" + "aB3d" * 9,
    "AKIAABCD2345ABCD2345",
    "sk-test-0000000000000000000000000000",
    "-----BEGIN PRIVATE KEY-----\ndummy\n-----END PRIVATE KEY-----",
    "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.dummysignature",
]
pieces = st.one_of(
    st.sampled_from(
        [
            *(
                "password",
                "api_key",
                "token",
                "=",
                ": ",
                " ",
                "\n",
                '"',
                "'",
                "--",
                "://",
                "@",
                ":",
            ),
            *("Bearer ", "Authorization", "-----BEGIN PRIVATE KEY-----", "[redacted:token]", ","),
            *("hunter2", "dummy12345", "x", "$", "key", "?", "\\"),
        ]
    ),
    st.text(max_size=4),
)
texts = st.lists(pieces, max_size=14).map("".join)


@given(texts)
def test_masking_twice_changes_nothing(text: str) -> None:
    once = mask(text)
    assert mask(once.text) == (type(once)(once.text, ()))


@given(texts)
def test_a_text_without_labels_is_unchanged(text: str) -> None:
    masked = mask(text)
    assert bool(masked.labels) == (masked.text != text)


@given(texts, st.sampled_from(SECRETS), texts)
def test_a_secret_goes_whatever_stands_around_it(above: str, secret: str, below: str) -> None:
    masked = mask(f"{above} {secret} {below}")
    assert secret not in masked.text
    assert masked.labels

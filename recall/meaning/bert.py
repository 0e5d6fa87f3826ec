"""The forward pass of a small BERT in numpy: token numbers in, one vector of length 1 a text out.

Pure: weights are passed in, under the names of the safetensors file that they come from.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]

_EPSILON = np.float32(1e-12)
_AWAY = np.float32(-1e9)
"""Added to what a token pays to padding."""

# The error function by a polynomial (Abramowitz and Stegun, 7.1.26): 1.5e-7 off at most, and numpy
# has none of its own.
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_ERF_STEP = 0.3275911


class Bert:
    """An encoder. `heads` is not told by the weights."""

    def __init__(self, weights: Mapping[str, Floats], *, heads: int) -> None:
        self._words = weights["embeddings.word_embeddings.weight"]
        kinds = weights["embeddings.token_type_embeddings.weight"]
        # Of one text all tokens are of the first kind.
        self._places = weights["embeddings.position_embeddings.weight"] + kinds[0]
        self._norm = _norm_of(weights, "embeddings.LayerNorm")
        count = sum(name.endswith("output.dense.weight") for name in weights) // 2
        self._layers = [_Layer(weights, f"encoder.layer.{n}.", heads) for n in range(count)]

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return int(self._words.shape[1])

    def vectors(self, texts: Sequence[Sequence[int]]) -> Floats:
        """One row a text: the mean of its tokens, of length 1. No text may be without tokens."""
        lengths = np.array([len(each) for each in texts])
        tokens = np.zeros((len(texts), lengths.max()), np.int64)
        for row, each in zip(tokens, texts, strict=True):
            row[: len(each)] = each
        is_token = np.arange(tokens.shape[1]) < lengths[:, None]
        states = _normed(self._words[tokens] + self._places[: tokens.shape[1]], self._norm)
        bias = np.where(is_token, np.float32(0), _AWAY)[:, None, None, :]
        for layer in self._layers:
            states = layer(states, bias)
        return unit((states * is_token[:, :, None]).sum(axis=1))


class _Layer:
    """Attention of every token to all, then a small network for each."""

    def __init__(self, weights: Mapping[str, Floats], name: str, heads: int) -> None:
        self._heads = heads
        own = f"{name}attention.self."
        parts = ("query", "key", "value")
        self._asked = _joined([weights[f"{own}{part}.weight"] for part in parts])
        self._asked_bias = np.concatenate([weights[f"{own}{part}.bias"] for part in parts])
        self._told, self._told_bias = _dense(weights, f"{name}attention.output.dense")
        self._told_norm = _norm_of(weights, f"{name}attention.output.LayerNorm")
        self._wide, self._wide_bias = _dense(weights, f"{name}intermediate.dense")
        self._narrow, self._narrow_bias = _dense(weights, f"{name}output.dense")
        self._norm = _norm_of(weights, f"{name}output.LayerNorm")

    def __call__(self, states: Floats, bias: Floats) -> Floats:
        heard = self._attention(states, bias) @ self._told + self._told_bias
        states = _normed(states + heard, self._told_norm)
        wide = gelu(states @ self._wide + self._wide_bias)
        return _normed(states + wide @ self._narrow + self._narrow_bias, self._norm)

    def _attention(self, states: Floats, bias: Floats) -> Floats:
        count, length, size = states.shape
        asked = states @ self._asked + self._asked_bias
        split = asked.reshape(count, length, 3, self._heads, size // self._heads)
        query, key, value = split.transpose(2, 0, 3, 1, 4)
        scale = np.float32((size // self._heads) ** -0.5)
        shares = softmax(query @ key.transpose(0, 1, 3, 2) * scale + bias)
        heard: Floats = (shares @ value).transpose(0, 2, 1, 3).reshape(count, length, size)
        return heard


def unit(vectors: NDArray[Any]) -> Floats:
    """The same directions at length 1; one without a direction stays 0."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return scaled


def softmax(values: Floats) -> Floats:
    """Shares along the last axis, which add up to 1."""
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def gelu(values: Floats) -> Floats:
    """Each value times the share of a normal distribution below it."""
    size = np.abs(values) * np.float32(0.5**0.5)
    step = 1 / (1 + np.float32(_ERF_STEP) * size)
    tail = np.float32(_ERF[-1]) * step
    for factor in reversed(_ERF[:-1]):
        tail = (tail + np.float32(factor)) * step
    erf = np.copysign(1 - tail * np.exp(-size * size), values)
    result: Floats = values * (1 + erf) * np.float32(0.5)
    return result


def _normed(states: Floats, norm: tuple[Floats, Floats]) -> Floats:
    centred = states - states.mean(axis=-1, keepdims=True)
    spread = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + _EPSILON)
    result: Floats = centred / spread * norm[0] + norm[1]
    return result


def _norm_of(weights: Mapping[str, Floats], name: str) -> tuple[Floats, Floats]:
    return weights[f"{name}.weight"], weights[f"{name}.bias"]


def _dense(weights: Mapping[str, Floats], name: str) -> tuple[Floats, Floats]:
    return _joined([weights[f"{name}.weight"]]), weights[f"{name}.bias"]


def _joined(parts: Sequence[Floats]) -> Floats:
    """Matrices side by side, as what stands on the left is multiplied with."""
    return np.ascontiguousarray(np.concatenate(parts).T)

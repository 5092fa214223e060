"""A query and keys in a plane: the traits that the score explorer and the six scores share."""

import traitlets

from .base import Explorable, vectors

EXTENT = 2.0  # the plane shows -2 .. 2 in both directions
MOST = 8  # keys
KEYS = [[1.3, 0.4], [0.3, 1.4], [-1.2, 0.8], [-0.8, -1.1], [0.9, -1.2]]
OKABE_ITO = ["#F0E442", "#009E73", "#56B4E9", "#CC79A7", "#D55E00"]

# Additive(2, 2, 6), trained to give each of KEYS the weight softmax(-distance²); rounded to one digit.
W_Q = [[0.3, -0.5], [0.6, 0.6], [0.4, -0.7], [-0.1, -0.7], [0.8, -0.4], [0.9, 0.1]]
W_K = [[2.7, 2.2], [2.8, -2.6], [-3.3, -1.7], [2.1, -1.7], [-0.9, 3.0], [1.0, 2.1]]
V = [4.2, -3.0, 2.9, 4.3, 2.4, -3.4]


def colour(code: str) -> list[float]:
    """'#E69F00' -> red, green, blue from 0 to 1"""
    return [round(int(code[i : i + 2], 16) / 255, 3) for i in (1, 3, 5)]


DEFAULTS = {
    "query": [0.6, 0.9],
    "key_vectors": KEYS,
    "values": [colour(code) for code in OKABE_ITO],
    "W_q": W_Q,
    "W_k": W_K,
    "v": V,
}


class QueryAmongKeys(Explorable):
    """One query and up to eight keys in a plane; every key holds a colour, the query reads a mixture.

    Traits are the API, both ways: query (2), key_vectors (N, 2), values (N, 3) as red, green, blue in 0..1,
    temperature 0.1..10, and W_q, W_k, v of the additive score.
    """

    extent = traitlets.Float(EXTENT, read_only=True).tag(sync=True)
    query = traitlets.Any().tag(sync=True)
    key_vectors = traitlets.Any().tag(sync=True)  # `keys` is taken: ipywidgets keeps its trait names there
    values = traitlets.Any().tag(sync=True)
    temperature = traitlets.Float(1.0, min=0.1, max=10.0).tag(sync=True)
    W_q = traitlets.Any().tag(sync=True)
    W_k = traitlets.Any().tag(sync=True)
    v = traitlets.Any().tag(sync=True)

    def __init__(self, **traits):
        super().__init__(**DEFAULTS | traits)
        self._check_sizes()

    @traitlets.validate("query")
    def _check_query(self, proposal):
        return vectors("query", [proposal["value"]], 2, -EXTENT, EXTENT)[0]

    @traitlets.validate("key_vectors")
    def _check_keys(self, proposal):
        keys = vectors("key_vectors", proposal["value"], 2, -EXTENT, EXTENT)
        if not 1 <= len(keys) <= MOST:
            raise traitlets.TraitError(f"the picture holds 1 to {MOST} keys; these are {len(keys)}")
        return keys

    @traitlets.validate("values")
    def _check_values(self, proposal):
        return vectors("values", proposal["value"], 3, 0.0, 1.0)

    @traitlets.validate("W_q", "W_k")
    def _check_weights(self, proposal):
        return vectors(proposal["trait"].name, proposal["value"], 2, -100.0, 100.0)

    @traitlets.validate("v")
    def _check_v(self, proposal):
        value = proposal["value"]
        numbers = [[x] for x in value] if hasattr(value, "__iter__") else value
        return [number for [number] in vectors("v", numbers, 1, -100.0, 100.0)]

    def _check_sizes(self) -> None:
        if len(self.key_vectors) != len(self.values):
            sizes = f"{len(self.key_vectors)} keys, {len(self.values)} values"
            raise traitlets.TraitError(f"there is one value per key: {sizes}")
        if not len(self.W_q) == len(self.W_k) == len(self.v):
            sizes = f"W_q has {len(self.W_q)} rows, W_k {len(self.W_k)}, v {len(self.v)} numbers"
            raise traitlets.TraitError(f"the hidden sizes of the additive score differ: {sizes}")

"""The family of attention on one map: time from left to right, a lane for each part of the course, filters by kind."""

import traitlets

from ... import family
from .. import bundle
from ..base import Explorable


def nodes() -> list[dict]:
    """What the page needs of every mechanism, in the order of time."""
    return [
        {
            "name": m.name,
            "short": m.short,
            "year": int(m.when),
            "x": round(family.column(m.when), 3),
            "y": family.height(m),
            "adds": m.adds,
            "kinds": {name: m.has(name) for name in family.PROPERTIES},
            "took": [list(pair) for pair in m.took],
            "chapter": m.chapter,
            "page": m.page,
            "section": m.section,
        }
        for m in sorted(family.MECHANISMS, key=lambda m: (m.when, m.lane, m.row))
    ]


class FamilyMap(Explorable):
    """Choose a mechanism to see what it adds, what it took from whom, and where it is built; filter by kind.

    Traits, both ways: selected, a mechanism's name; filters, {"read": "soft", …}: a property is absent or one of
    its words in `family.PROPERTIES`.
    """

    _esm = bundle.esm("family_map")
    _css = bundle.css("family_map")

    challenge = traitlets.Unicode(
        "Find every mechanism that makes a hard choice, and see what they took from one another."
    ).tag(sync=True)
    selected = traitlets.Unicode("RNNsearch").tag(sync=True)
    filters = traitlets.Dict().tag(sync=True)
    nodes = traitlets.List(nodes(), read_only=True).tag(sync=True)
    lanes = traitlets.List([list(pair) for pair in zip(family.LANES, family.tops(), strict=False)], read_only=True).tag(
        sync=True
    )
    years = traitlets.List([list(pair) for pair in family.YEARS], read_only=True).tag(sync=True)
    properties = traitlets.List(  # pairs, since a notebook's JSON keeps no order of keys
        [[name, list(words)] for name, words in family.PROPERTIES.items()], read_only=True
    ).tag(sync=True)

    @traitlets.validate("selected")
    def _check_selected(self, proposal):
        names = [m.name for m in family.MECHANISMS]
        if proposal["value"] not in names:
            raise traitlets.TraitError(f"{proposal['value']!r} is not on the map; there are: {', '.join(names)}")
        return proposal["value"]

    @traitlets.validate("filters")
    def _check_filters(self, proposal):
        for name, word in proposal["value"].items():
            if word not in family.PROPERTIES.get(name, {}):
                known = {name: list(words) for name, words in family.PROPERTIES.items()}
                raise traitlets.TraitError(f"no mechanism is filtered by {name!r}: {word!r}; there are: {known}")
        return proposal["value"]

    def matching(self) -> list[str]:
        """The names that the filters leave, in the order of time."""
        return [n["name"] for n in self.nodes if all(word in n["kinds"][name] for name, word in self.filters.items())]

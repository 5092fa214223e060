"""What Python's side of the explorables shares."""

import anywidget
import traitlets

from ..running import record
from . import weights


class Explorable(anywidget.AnyWidget):
    """What all explorables share: their use is noted while a notebook of the book is executed.

    Each begins with a task for the reader, its trait `challenge`: a chapter that wants another one passes it.
    """

    def __init__(self, *arguments, **traits):
        super().__init__(*arguments, **traits)
        record.used("widget", type(self).__name__)


class ZooWidget(Explorable):
    """An explorable that runs a zoo model in the browser.

    The weights never enter a synced trait, they would be stored in every notebook: under a kernel the page asks
    for them by a custom message, in the built book it loads the file that `weights.export_zoo` wrote.
    """

    zoo = traitlets.Unicode(help="the zoo model's name").tag(sync=True)

    def __init__(self, **traits):
        super().__init__(**traits)
        self.on_msg(self._answer)

    def _answer(self, _, message: dict, buffers: list) -> None:
        if not isinstance(message, dict) or message.get("zoo") != self.zoo:
            return
        try:
            data = weights.zoo_bytes(self.zoo)
        except (ValueError, OSError) as error:  # tell the reader instead of leaving the page waiting
            self.send({"zoo": self.zoo, "error": str(error)})
        else:
            self.send({"zoo": self.zoo}, buffers=[data])


def vectors(name: str, value, size: int, low: float, high: float) -> list[list[float]]:
    """A list of vectors of `size` numbers between low and high, or a TraitError that says what is wrong where."""
    plain = [row.tolist() if hasattr(row, "tolist") else row for row in value] if hasattr(value, "__iter__") else None
    if plain is None:
        raise traitlets.TraitError(f"{name} is {value!r}; it needs a list of vectors")
    for i, row in enumerate(plain):
        numbers = isinstance(row, list | tuple) and all(isinstance(x, int | float) for x in row)
        if not numbers or len(row) != size or not all(low <= x <= high for x in row):
            what = f"{name}[{i}] is {row!r}; it needs {size} numbers from {low:g} to {high:g}"
            raise traitlets.TraitError(what)
    return [[float(x) for x in row] for row in plain]

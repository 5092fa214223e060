"""What the small torch says when it is asked for something that it does not have."""


class Unknown(AttributeError):
    """An AttributeError, as torch raises for a name that does not exist: `hasattr` goes on working."""


def sentence(name: str) -> str:
    return f"this page's small torch does not know {name}; open the notebook to use it"


def getter(module: str):
    """A module's `__getattr__`."""

    def __getattr__(name):
        if name.startswith("__"):  # Python itself asks, not the learner
            raise AttributeError(name)
        raise Unknown(sentence(f"{module}.{name}"))

    return __getattr__


def refuse(name: str, given, known) -> None:
    """An option that torch has and this one has not."""
    if given not in known:
        raise NotImplementedError(sentence(f"{name}={given!r}"))

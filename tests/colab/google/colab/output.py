import os
from types import SimpleNamespace

_widgets = SimpleNamespace(_installed_url=None)  # anywidget asks for it


def enable_custom_widget_manager() -> None:
    """Leave a trace, so that the test can tell that every notebook's kernel called it."""
    with open(os.environ["COLAB_TRACE"], "a") as trace:
        trace.write(f"{os.getpid()}\n")

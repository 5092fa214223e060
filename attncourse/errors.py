"""The one error that is the user's to mend."""


class BadInput(ValueError):
    """Something that was handed in cannot be worked with. One sentence: what was seen, and what would be right.

    On the command line it becomes that sentence and exit code 2; every other exception is a fault of the course.
    """

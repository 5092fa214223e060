"""Exercises in the built page: a small torch in plain Python, and the check that runs on it.

    torch/      PyTorch's tensors over lists; with this folder first on sys.path, `import torch` finds it
    record.py   for the build: what PyTorch makes of the cases, as plain data
    packed.py   that data as few bytes
    check.py    in the page: an exercise from the data, and the verdict on what is in the editor

In the page the engine of the notebook runs unchanged, on the small torch. `tests/page` proves that both say the same.
"""

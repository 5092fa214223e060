"""Chapter 11: one hop, the position encoding, the temporal encoding."""

from . import one_hop, position_encoding, temporal_encoding

CHAPTER = "11_memory_networks"
EXERCISES = [one_hop.EXERCISE, position_encoding.EXERCISE, temporal_encoding.EXERCISE]

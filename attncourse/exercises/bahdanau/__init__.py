"""Chapter 04: the additive score, a softmax that honours padding, one step of the decoder."""

from . import additive_score, decoder_step, masked_softmax

CHAPTER = "04_bahdanau"
EXERCISES = [additive_score.EXERCISE, masked_softmax.EXERCISE, decoder_step.EXERCISE]

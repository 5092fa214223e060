"""Chapter 01: saliency, Grad-CAM, and what a Jacobian costs."""

from . import gradcam, jacobian_passes, saliency

CHAPTER = "01_implicit_attention"
EXERCISES = [jacobian_passes.EXERCISE, saliency.EXERCISE, gradcam.EXERCISE]

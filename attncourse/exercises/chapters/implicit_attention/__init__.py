"""Saliency, Grad-CAM, and what a Jacobian costs."""

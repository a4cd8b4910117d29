"""Fits, models, answers and what they are made of, into files and back."""

from halftrek.storage.files import load, save

__all__ = ["load", "save"]

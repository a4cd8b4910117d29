"""The normal variables behind columns that are cuts or transforms of them; numbers only, no files and no models."""

from halftrek.layer.influence import RowInfluence, with_weights
from halftrek.layer.layer import Layer, layer_of
from halftrek.layer.margins import Margin

__all__ = ["Layer", "Margin", "RowInfluence", "layer_of", "with_weights"]

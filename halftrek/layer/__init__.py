"""The normal variables behind columns that are cuts or transforms of them; numbers only, no files and no models."""

from typing import TYPE_CHECKING

from halftrek.bottom.on_demand import on_demand

if TYPE_CHECKING:
    from halftrek.layer.influence import RowInfluence, with_weights
    from halftrek.layer.layer import Layer, layer_of
    from halftrek.layer.margins import Margin

__all__ = ["Layer", "Margin", "RowInfluence", "layer_of", "with_weights"]

_HOMES = {  # loaded when first used
    "layer.influence": ("RowInfluence", "with_weights"),
    "layer.layer": ("Layer", "layer_of"),
    "layer.margins": ("Margin",),
}
__getattr__ = on_demand(__name__, _HOMES)

"""Pictures inside a page: SVG without a library for graphs, matplotlib's SVG, tidied, for everything else."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from halftrek.errors import InputError, MissingExtraError
from halftrek.reporting.document import Document, Figure, Remark
from halftrek.reporting.plots.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_PATH = re.compile(r"\sd=\"[^\"]*\"")  # coordinates alone: numbers in words stay as they are
_LONG = re.compile(r"(\d\.\d\d)\d+")  # hundredths of a point are fine enough
_NAMESPACES = re.compile(r'\s+xmlns(?::\w+)?="[^"]*"')


def figure(svg: str, caption: str) -> Figure:
    """A picture with what it shows."""
    return Figure(_NAMESPACES.sub("", svg), caption)  # names that look like places elsewhere; HTML needs none


def drawn(name: str, draw: Callable[[Axes], object], size: tuple[float, float], caption: str) -> Document:
    """What ``draw`` puts on axes; a remark where pictures cannot be drawn here, nothing where there is none to draw.

    ``name`` sets the picture's anchors apart from those of the others on the page.
    """
    try:
        canvas = new_figure(*size)
    except (MissingExtraError, InputError) as error:
        return [Remark(f"A picture is left out here: {error}.")]
    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif"}):
        try:
            draw(canvas.axes[0])
        except InputError:
            return []
        buffer = io.StringIO()
        canvas.savefig(buffer, format="svg", metadata=_METADATA)
    return [figure(_inline(buffer.getvalue(), name), caption)]


def _inline(svg: str, name: str) -> str:
    """The element alone, with anchors of its own and no name of a place elsewhere."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = _PATH.sub(lambda path: _LONG.sub(r"\1", path[0]), svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", svg)

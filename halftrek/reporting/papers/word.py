"""Documents as Word files: a zip of a few pages of XML, which needs no package."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from halftrek.bottom.files import MARK, whole_file
from halftrek.errors import InputError, printable
from halftrek.reporting.document import Described, Facts, Heading, Listing, Printed, Table, grid, plain
from halftrek.reporting.papers.signs import with_arrows, with_minus

_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_SPACE = "http://schemas.openxmlformats.org"
_TYPES = (
    _XML + f'<Types xmlns="{_SPACE}/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>'
    '<Override PartName="/word/styles.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/></Types>'
)
_ROOT = (
    _XML + f'<Relationships xmlns="{_SPACE}/package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{_SPACE}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>'
)
_PARTS = (
    _XML + f'<Relationships xmlns="{_SPACE}/package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{_SPACE}/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>'
)
_W = f'xmlns:w="{_SPACE}/wordprocessingml/2006/main"'
_STYLES = (
    f"{_XML}<w:styles {_W}>"
    '<w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii="Times New Roman" w:hAnsi="Times New Roman" '
    'w:cs="Times New Roman"/><w:sz w:val="20"/></w:rPr></w:rPrDefault></w:docDefaults>'
    '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/>'
    '<w:pPr><w:spacing w:after="0"/></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Caption"><w:name w:val="caption"/><w:basedOn w:val="Normal"/>'
    '<w:pPr><w:keepNext/><w:spacing w:before="120" w:after="80"/></w:pPr><w:rPr><w:b/></w:rPr></w:style></w:styles>'
)
_PAGE = (
    '<w:sectPr><w:pgSz w:w="11906" w:h="16838"/>'
    '<w:pgMar w:top="1134" w:right="1134" w:bottom="1134" w:left="1134"/></w:sectPr>'
)
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # what XML cannot hold


def write_word(
    document: Described, path: str | os.PathLike[str], *, caption: str | None = None, overwrite: bool = False
) -> Path:
    """The document as a file of Word, whole or not at all; one that halftrek wrote is replaced."""
    target = Path(path)
    if target.suffix.lower() != ".docx":
        raise InputError(f"a Word file: name it {str(target.with_suffix('.docx'))!r}, not {str(target)!r}")
    pieces: list[Printed] = list(document)
    if caption is not None:
        pieces = [Heading(caption), *(pieces[1:] if pieces and isinstance(pieces[0], Heading) else pieces)]
    body = "".join(map(_shown, pieces))
    whole = f"{_XML}<w:document {_W}><w:body>{body}{_PAGE}</w:body></w:document>"
    parts = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _ROOT,
        "word/document.xml": whole,
        "word/_rels/document.xml.rels": _PARTS,
        "word/styles.xml": _STYLES,
    }
    with whole_file(target, overwrite=overwrite) as unfinished, ZipFile(unfinished, "w", ZIP_DEFLATED) as packed:
        for name, text in parts.items():
            packed.writestr(ZipInfo(name), text.encode())  # without the time of day: the same answer, the same file
        packed.comment = MARK.encode()
    return target


def _shown(piece: Printed) -> str:
    match piece:
        case Table():
            return _table(piece)
        case Facts(pairs):
            rows = [[name, plain(value)] for name, value in pairs]
            return _rows((), rows, (False, False), ())
        case Heading(words):
            return f'<w:p><w:pPr><w:pStyle w:val="Caption"/></w:pPr>{_run(words)}</w:p>'
        case Listing(code):
            return f"<w:p>{_run(code, small=True)}</w:p>"
        case _:
            return f"<w:p>{_run(plain(piece.words), small=True)}</w:p>"


def _table(table: Table) -> str:
    shown = grid(table)
    cut = f"<w:p>{_run(shown.cut, small=True)}</w:p>" if shown.cut else ""
    return _rows(shown.heads, shown.rows, shown.numeric, table.parts) + cut


def _rows(heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool], parts: Collection[int]) -> str:
    """A table with lines above, under the heads and below; an empty paragraph keeps it from the next one."""
    line = '<w:{0} w:val="single" w:sz="{1}" w:space="0" w:color="auto"/>'
    frame = f"<w:tblBorders>{line.format('top', 8)}{line.format('bottom', 8)}</w:tblBorders>"
    columns = "".join("<w:gridCol/>" for _ in numeric)
    top = _row(heads, numeric, bold=True, under=line.format("bottom", 4), repeat=True) if heads else ""
    body = "".join(
        _row(row, numeric, over=line.format("top", 4) if k in parts and k else "") for k, row in enumerate(rows)
    )
    layout = f'<w:tblPr><w:tblW w:w="0" w:type="auto"/>{frame}</w:tblPr><w:tblGrid>{columns}</w:tblGrid>'
    return f"<w:tbl>{layout}{top}{body}</w:tbl><w:p/>"


def _row(
    cells: Sequence[str],
    numeric: Sequence[bool],
    *,
    bold: bool = False,
    over: str = "",
    under: str = "",
    repeat: bool = False,
) -> str:
    ends = f"<w:tcBorders>{over}{under}</w:tcBorders>" if over or under else ""
    size = '<w:tcW w:w="0" w:type="auto"/>'
    shown = ""
    for cell, right in zip(cells, numeric, strict=True):
        side = f'<w:pPr><w:jc w:val="{"right" if right else "left"}"/></w:pPr>'
        words = _run(with_minus(cell) if right else cell, bold=bold)
        shown += f"<w:tc><w:tcPr>{size}{ends}</w:tcPr><w:p>{side}{words}</w:p></w:tc>"
    head = "<w:trPr><w:cantSplit/><w:tblHeader/></w:trPr>" if repeat else "<w:trPr><w:cantSplit/></w:trPr>"
    return f"<w:tr>{head}{shown}</w:tr>"


def _run(words: str, *, bold: bool = False, small: bool = False) -> str:
    looks = ("<w:b/>" if bold else "") + ('<w:sz w:val="17"/>' if small else "")
    lines = _FORBIDDEN.sub("", printable(with_arrows(words))).split("\n")
    text = "<w:br/>".join(f'<w:t xml:space="preserve">{escape(line)}</w:t>' for line in lines)
    return f"<w:r>{f'<w:rPr>{looks}</w:rPr>' if looks else ''}{text}</w:r>"

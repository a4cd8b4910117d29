"""The built page: the files that the front end was built into, known by name, so that no other can be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from mimetypes import guess_type
from pathlib import Path

from starlette.responses import Response

from halftrek.web.refusal import Refused

FOLDER = Path(__file__).parent / "static"
_UNBUILT = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>halftrek</title><p>The page has not been built. '
    "From a checkout of halftrek, <code>make serve</code> builds and opens it.</p></html>"
)
_KINDS = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml",
          ".woff2": "font/woff2", ".json": "application/json", ".html": "text/html; charset=utf-8"}  # fmt: skip


@dataclass(frozen=True)
class Built:
    """Files by their address."""

    files: Mapping[str, Path] = field(default_factory=dict)

    def response(self, address: str) -> Response:
        """The file of an address; the page itself for the first."""
        if address == "/" and "/index.html" not in self.files:
            return Response(_UNBUILT, 503, media_type="text/html")
        path = self.files.get("/index.html" if address == "/" else address)
        if path is None:
            raise Refused(404, "not found", "there is no such address")
        # files under assets have the digest of their content in their names
        keep = "public, max-age=31536000, immutable" if address.startswith("/assets/") else "no-store"
        kind = _KINDS.get(path.suffix) or guess_type(path.name)[0] or "application/octet-stream"
        return Response(path.read_bytes(), headers={"content-type": kind, "cache-control": keep})


def built_page(folder: Path = FOLDER) -> Built:
    """What has been built."""
    found = sorted(p for p in folder.rglob("*") if p.is_file()) if folder.is_dir() else []
    return Built({f"/{path.relative_to(folder).as_posix()}": path for path in found})

"""The page: draw a graph, ask, drop a file, see. A server for this machine alone, and the page that it serves."""

from halftrek.web.page import Page, open_page

__all__ = ["Page", "open_page"]

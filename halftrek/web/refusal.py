"""A request that is refused, as an error with a status, a code and a sentence."""

from __future__ import annotations

import json

from halftrek.errors import printable, shortened
from halftrek.web.lanes import Reply


class Refused(Exception):
    """Why a request is not answered, in words."""

    def __init__(self, status: int, code: str, sentence: str, number: object = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.content = json.dumps(
            {
                "number": number if isinstance(number, int) and not isinstance(number, bool) else None,
                "error": {"code": code, "sentence": shortened(printable(sentence)), "place": None, "verdict": None},
            }
        ).encode()

    @classmethod
    def of(cls, reply: Reply) -> Refused:
        """What a process refused, passed on as it is."""
        made = cls(reply.status, "", "")
        made.content = reply.content
        return made

"""How much the page takes: enough for every study, too little to fill a disk or a memory by mistake."""

from __future__ import annotations

UPLOAD_BYTES = 1 << 30  # of one file
ALL_BYTES = 4 << 30  # of all files of all sessions
UPLOADS = 10  # files of a session
SESSIONS = 64  # the one that was used longest ago makes room
JSON_BYTES = 2_000_000  # of a request
GRAPH_LETTERS = 200_000
VARIABLES = 300
QUESTION_LETTERS = 4_000
QUESTIONS = 50
NAME_LETTERS = 500
WAITING = 256  # requests in one queue
QUICK_SECONDS = 30.0  # for a verdict or a graph
BUSY = 4  # sessions with a process of their own; that of the one used longest ago ends
IDLE_SECONDS = 900.0  # after which a session's process ends; its data stay

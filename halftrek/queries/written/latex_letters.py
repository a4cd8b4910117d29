"""Text as LaTeX that plain pdflatex sets with its own fonts: letters of ASCII alone, every special one escaped."""

from __future__ import annotations

import re
from unicodedata import normalize

from halftrek.errors import printable

_JOINT = "\u2060"  # a joiner, which keeps apart what TeX would draw as one: two hyphens, two quotes
_SPECIAL = {
    "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "_": "\\_", "%": "\\%", "&": "\\&", "#": "\\#", "$": "\\$",
    "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}",
    "|": "\\textbar{}", "\n": " ", "\t": " ", _JOINT: "{}",
}  # fmt: skip
_LETTERS = {
    "ß": "\\ss{}", "æ": "\\ae{}", "Æ": "\\AE{}", "œ": "\\oe{}", "Œ": "\\OE{}", "ø": "\\o{}", "Ø": "\\O{}",
    "ł": "\\l{}", "Ł": "\\L{}", "ı": "\\i{}", "ȷ": "\\j{}", "§": "\\S{}", "¶": "\\P{}", "£": "\\pounds{}",
    "©": "\\copyright{}", "†": "\\dag{}", "‡": "\\ddag{}", "…": "\\ldots{}", "–": "--", "—": "---",
    "‘": "`", "’": "'", "“": "``", "”": "''", "¿": "?`", "¡": "!`",
    "\u00a0": "\\ ", "\u2009": "\\,", "\u202f": "\\,", "‐": "-", "‑": "-", "•": "\\textbullet{}",
}  # fmt: skip
_MATHS = {
    "⇝": "\\sim\\joinrel\\rightarrow",
    "→": "\\rightarrow", "←": "\\leftarrow", "↔": "\\leftrightarrow", "⇒": "\\Rightarrow", "⇐": "\\Leftarrow",
    "⇔": "\\Leftrightarrow", "↑": "\\uparrow", "↓": "\\downarrow", "↦": "\\mapsto", "−": "-", "×": "\\times",
    "÷": "\\div", "±": "\\pm", "·": "\\cdot", "≤": "\\leq", "≥": "\\geq", "≠": "\\neq", "≈": "\\approx", "∼": "\\sim",
    "≡": "\\equiv", "∝": "\\propto", "∞": "\\infty", "√": "\\surd", "∑": "\\sum", "∏": "\\prod", "∫": "\\int",
    "∈": "\\in", "∉": "\\notin", "∅": "\\emptyset", "∩": "\\cap", "∪": "\\cup", "⊂": "\\subset", "⊆": "\\subseteq",
    "⊥": "\\perp", "∀": "\\forall", "∃": "\\exists", "¬": "\\neg", "∧": "\\wedge", "∨": "\\vee", "∂": "\\partial",
    "∇": "\\nabla", "°": "^{\\circ}", "′": "'", "″": "''", "µ": "\\mu", "⟨": "\\langle", "⟩": "\\rangle",
}  # fmt: skip
_GREEK = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "o", "pi", "rho", "varsigma", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
)  # fmt: skip
_LIKE_LATIN = dict(
    zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧ", "ABEZHIKMNOPTX", strict=True)
)  # plain TeX has no capitals of their own for these
_MATHS |= {chr(ord("α") + k): name if name == "o" else f"\\{name}" for k, name in enumerate(_GREEK)}
_MATHS |= {
    chr(ord("Α") + k): f"\\{name.capitalize()}"
    for k, name in enumerate(_GREEK)
    if chr(ord("Α") + k) not in _LIKE_LATIN and name != "varsigma"
}
_MATHS |= {"ϑ": "\\vartheta", "ϕ": "\\phi", "ϵ": "\\epsilon", "ϱ": "\\varrho", "ϖ": "\\varpi"}
_MATHS |= {greek: f"\\mathrm{{{latin}}}" for greek, latin in _LIKE_LATIN.items()}
_ACCENTS = {
    "\u0300": "\\`", "\u0301": "\\'", "\u0302": "\\^", "\u0303": "\\~", "\u0304": "\\=", "\u0306": "\\u",
    "\u0307": "\\.", "\u0308": '\\"', "\u030a": "\\r", "\u030b": "\\H", "\u030c": "\\v", "\u0327": "\\c",
    "\u0323": "\\d", "\u0331": "\\b",
}  # fmt: skip
_RAISED, _LOWERED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "₀₁₂₃₄₅₆₇₈₉₊₋"


def latex_text(text: str) -> str:
    """Text that LaTeX sets as it is; a letter that it has no sign for is named by its code, as in ``[U+4E2D]``."""
    apart = re.sub(r"(?<=-)-|(?<=')'|(?<=`)`|(?<=[?!])`", _JOINT + r"\g<0>", normalize("NFC", printable(text)))
    return "".join(map(_letter, apart))


def _letter(letter: str) -> str:
    if letter in _SPECIAL:
        return _SPECIAL[letter]
    if letter.isascii():
        return letter
    if letter in _LETTERS:
        return _LETTERS[letter]
    if letter in _MATHS:
        return f"\\ensuremath{{{_MATHS[letter]}}}"
    return _taken_apart(letter)


def _taken_apart(letter: str) -> str:
    """A letter with an accent, a raised or lowered digit, a ligature; else its code."""
    base, *marks = list(normalize("NFD", letter))
    if marks and base.isascii() and base.isalpha() and all(mark in _ACCENTS for mark in marks):
        text = {"i": "\\i", "j": "\\j"}.get(base, base) if not {"\u0323", "\u0331"} & set(marks) else base
        for mark in marks:
            text = f"{_ACCENTS[mark]}{{{text}}}"
        return text
    plain = normalize("NFKC", letter).replace("−", "-")
    if letter in _RAISED or letter in _LOWERED:
        return f"\\ensuremath{{{'^' if letter in _RAISED else '_'}{{{plain}}}}}"
    if plain != letter and plain.isascii():
        return "".join(map(_letter, plain))
    return f"[U+{ord(letter):04X}]"

"""Findings as values: a code for programs, facts, and the words for people, which stand here and nowhere else.

No code decides anything by a piece of English: it asks for ``note.code``. A new finding is one entry in ``_WORDS``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Front = Literal["python", "command line"]
Level = Literal["doubt", "warning", "note", "aside"]

# How each front asks for what an advice names: ``{ask_profile}`` in the words below stands for the front's own way.
_ASKS: Mapping[Front, Mapping[str, str]] = {
    "python": {
        "ask_profile": 'fit.query(..., interval="profile")',
        "ask_robust": 'interval="robust"',
        "ask_default": "leave interval= out",
        "ask_measures": "fit.measures()",
        "ask_tests": "fit.tests()",
        "ask_steps": "raise max_iter",
        "ask_expected": 'fit.modifications(information="expected")',
        "ask_plain_indices": "fit.modifications(robust=False)",
        "ask_path": 'fit.effect("x -> m -> y")',
    },
    "command line": {
        "ask_profile": "--interval profile",
        "ask_robust": "--interval robust",
        "ask_default": "leave --interval out",
        "ask_measures": "halftrek fit --checks",
        "ask_tests": "halftrek fit --checks",
        "ask_steps": "fit in Python with a larger max_iter",
        "ask_expected": 'fit.modifications(information="expected") in Python',
        "ask_plain_indices": "fit.modifications(robust=False) in Python",
        "ask_path": "halftrek effect GRAPH DATA 'x -> m -> y'",
    },
}


@dataclass(frozen=True)
class Words:
    """What one code says: a sentence, a few words for a column of a table, and how much it speaks against a number."""

    text: str
    short: str = ""
    level: Level = "warning"
    why: str = ""  # the finding without the advice, for notes that refer to it


_WORDS: dict[str, Words] = {
    "text": Words("{text}"),  # from files of the first version, which kept sentences
    "remark": Words("{text}", level="note"),
    "doubt": Words("{text}", level="doubt"),
    "aside": Words("{text}", level="aside"),
    # how the fit went
    "steps ran out": Words(
        "district {{{who}}}: no maximum after {iterations} steps; {ask_steps}, or check the graph for effects that are "
        "not identified",
        "not converged, see fit.status",
        level="doubt",
    ),
    "no finite maximum": Words(
        "district {{{who}}}: the likelihood keeps rising along a ridge while {runaway} runs off, with no finite "
        "maximum in sight; do not trust answers that involve it",
        "no finite maximum, see fit.status",
        level="doubt",
    ),
    "boundary": Words(
        "district {{{who}}}: a noise variance is estimated at zero; intervals there are not reliable",
        "boundary, see fit.status",
        level="doubt",
    ),
    "several peaks": Words(
        "district {{{who}}}: only {agreeing} of {starts} starts reached the best likelihood; it has several peaks or a "
        "ridge",
        "several peaks, see fit.status",
        level="doubt",
    ),
    "maximum missed": Words(
        "district {{{who}}}: the graph restricts none of its covariances, yet the log-likelihood stays {lost:.3g} below "
        "what they allow: either no noise variances and error covariances fit them, or a higher maximum was missed. "
        "Compare with a fit that has more starts",
        "may have missed the maximum",
        level="doubt",
    ),
    "not determined": Words(
        "district {{{who}}}: {many} of its parameters cannot be determined from data; each question is checked on its "
        "own",
        level="note",
    ),
    "several solutions": Words(
        "district {{{who}}}: different coefficients reach the same likelihood; an effect that depends on them is not "
        "identified, or has several values",
        level="note",
    ),
    "no maximum": Words("the fit did not reach a maximum: {status}", "{code}, see fit.status"),
    # what the data are
    "missing values": Words("{text}"),
    "rows left out": Words("{rows:,} rows with missing values were left out"),
    "no means": Words("no means were given with the covariance, so they count as zero: read means as deviations"),
    "no means, rows": Words(
        "no means were given with the covariance, so they count as zero: give rows as deviations from their means, and "
        "read the results so",
        level="doubt",
    ),
    "no information": Words(
        "at these estimates the data carry no information about this answer, so it has no interval",
        "no information about it at these estimates",
    ),
    "no path": Words("the graph has no such path", level="note"),
    # whether an interval may be trusted
    "weak instrument": Words(
        "{why}: the interval cannot be trusted, use {ask_profile}",
        "weak instrument (F = {F:.1f}): see fit.query",
        "doubt",
        why="{rows} is a weak instrument for {columns} (first-stage F = {F:.1f}, below {strong:g})",
    ),
    "weak instruments": Words(
        "{why}: the interval cannot be trusted, use {ask_profile}",
        "weak instruments (F = {F:.1f}): see fit.query",
        "doubt",
        why="{rows} are weak instruments for {columns} (strength {F:.1f} as a first-stage F, below {strong:g})",
    ),
    "weak divisor": Words(
        "{why}: the interval cannot be trusted, use {ask_profile}",
        "hardly identified (F = {F:.1f}): see fit.query",
        "doubt",
        why="the formula of this effect divides by a number that data hardly tell from zero (strength {F:.1f} as a "
        "first-stage F, below {strong:g})",
    ),
    "no parabola": Words(
        "{why}: the interval cannot be trusted, use {ask_profile}",
        "a standard error describes it badly: see fit.query",
        "doubt",
        why="a standard error describes the likelihood of this answer badly (deviance {low:.3g} at the lower end of "
        "the interval and {high:.3g} at the upper, where {nominal:.3g} is meant)",
    ),
    "few rows": Words(
        "the interval is for few rows: {rows:.4g} rows inform the answer, less {parameters:.4g} parameters, so it "
        "takes Student's t with {free:.3g} degrees of freedom",
        "t with {free:.3g} degrees of freedom",
        "note",
    ),
    "no rows left": Words(
        "{rows:.4g} rows inform this answer, and its equations have {parameters:.4g} parameters: the data say nothing "
        "of its precision",
        "no rows left",
        level="doubt",
    ),
    "too few rows": Words(
        "{rows:.4g} rows inform this answer, and its equations have {parameters:.4g} parameters: this interval is made "
        "for more, and too narrow; {ask_default}",
        "too few rows for this interval",
        level="doubt",
    ),
    "few clusters": Words(
        "the interval is for few clusters: {clusters} clusters, left out one at a time, with Student's t",
        "few clusters",
        "note",
    ),
    "too few clusters": Words(
        "{clusters} clusters are few for this interval, which may be too narrow; {ask_default}",
        "few clusters",
        level="doubt",
    ),
    "profile chosen": Words(
        "the interval is by profile likelihood, since one from a standard error would mislead: {reason}",
        level="note",
    ),
    "kinked": Words(
        "this probability has no slope where an effect changes its sign, so that an interval from slopes or from the "
        "likelihood cannot be trusted; {ask_default}",
        "has no slope",
        level="doubt",
    ),
    "drawn from the model": Words(
        "the interval is from data drawn from the fitted model, since this probability has no slope where an effect "
        "changes its sign",
        level="note",
    ),
    "misfit": Words(
        "the data contradict the graph (overall test: p = {p:.2g}), see {ask_tests}: what follows from a wrong graph "
        "may be wrong, however narrow its interval",
        "the data contradict the graph (p = {p:.2g})",
        "doubt",
    ),
    "sandwich chosen": Words(
        "the interval does not rely on what the graph forbids for its width (a sandwich); it does not correct a bias",
        level="note",
    ),
    "without the restriction": Words(
        "with {edge} in the graph the answer is {value:.4g} (from {low:.4g} to {high:.4g})", level="note"
    ),
    "not known without it": Words("with {edge} in the graph the answer could not be known", level="note"),
    # the formula that identifies an effect, and the estimate of the whole model
    "formula differs": Words(
        "the formula alone gives {formula:.4g} for {what}, the whole model {model:.4g}, further apart than chance "
        "sets them in a graph that is right (p = {p:.1g}): the data contradict the graph somewhere, see {ask_measures}",
        "formula gives {formula:.4g}: the data contradict the graph",
        level="doubt",
    ),
    "formula beside LIML": Words(
        "the formula alone, which uses {tools} of the instruments, gives {formula:.4g} on these data. The estimate is "
        "the maximum of the likelihood, which is LIML with all instruments of the equation of {outcome}: {instruments}",
        level="aside",
    ),
    "formula beside regressions": Words(
        "the formula alone, from {used}, gives {formula:.4g} for {what} on these data. The estimate is put together "
        "from the equations of {equations}, each a regression on all its causes in the graph",
        level="aside",
    ),
    "formula beside likelihood": Words(
        "the formula alone, from {used}, gives {formula:.4g} for {what} on these data. The estimate is the maximum of "
        "the joint likelihood of {equations}, given their causes (full-information maximum likelihood), which uses all "
        "that the graph says of {variables}",
        level="aside",
    ),
    "formula beside missing values": Words(
        "the formula alone, from {used}, gives {formula:.4g} for {what} on these data. The estimate is the maximum of "
        "the likelihood of the whole graph (full-information maximum likelihood): where values are missing, every "
        "equation has a part in it",
        level="aside",
    ),
    "formula by chance": Words(
        "in a graph that is right formula and estimate differ by chance alone: here by {gap:.2g}, and the standard "
        "error of this difference is {error:.2g}",
        level="aside",
    ),
    "formula by no chance": Words(
        "in a graph that is right formula and estimate differ by chance alone, and chance does not explain this "
        "difference (p = {p:.1g})",
        level="aside",
    ),
    "model, not rows": Words(
        "this is the number of the fitted model, in which the graph has a part; the rows alone, without the graph, "
        "give {rows:.4g}",
        level="aside",
    ),
    "clusters not counted": Words(
        "this interval takes the rows for independent: {ask_robust} counts their clusters",
        "clusters not counted",
        level="doubt",
    ),
    # bootstrap
    "replicates left out": Words(
        "{failed} of {drawn} {kind} replicates had no maximum of the likelihood and were left out"
    ),
    "many replicates left out": Words(
        "{failed} of {drawn} {kind} replicates had no maximum of the likelihood and were left out: do not trust this "
        "interval, use {ask_profile}",
        "{failed} of {drawn} replicates had no maximum of the likelihood",
        level="doubt",
    ),
    # profile
    "unbounded": Words(
        "the likelihood bounds {name} on neither side: these data are consistent with every value", level="note"
    ),
    "ruled out": Words(
        "the likelihood bounds {name} on neither side: only values between {low:.4g} and {high:.4g} are ruled out, and "
        "the interval is given as unbounded",
        level="note",
    ),
    "unbounded on one side": Words("the likelihood does not bound {name} {side}", level="note"),
    "walk lost": Words("the likelihood of {name} could not be followed to the end of its interval on {side}"),
    "short of the maximum": Words(
        "the fit stopped short of the maximum by {short:.3g} in log-likelihood; the interval is about the maximum, "
        "where {name} is {estimate:.4g}",
        level="doubt",
    ),
    # mediation
    "total may be zero": Words(
        "the {percent:g}% interval of the total effect contains zero, so the proportion mediated may be anything and "
        "its interval is not reliable; look at the indirect effect itself"
    ),
    "opposite signs": Words(
        "direct and indirect effect have opposite signs and partly cancel: the proportion is not a share"
    ),
    "many routes": Words(
        "more than {most} routes visit the mediators; only the effects through each of them are listed", level="note"
    ),
    # checks of a graph
    "clusters not saved": Words(
        "the rows of this fit were in clusters and were not saved with it, so {what} takes rows for independent and "
        "may reject what is true: fit again, or save with save(path, rows=True)",
        "clusters not counted",
    ),
    "criteria of clusters": Words(
        "AIC, BIC and weights take rows for independent, and these are in clusters: they favour the larger model; the "
        "tests count clusters",
        "AIC and BIC do not count clusters",
    ),
    "indices with holes": Words(
        "with missing values these indices use the observed information about the moments, which holds for values "
        "missing at random; lavaan's differ: {ask_expected} gives lavaan's, right only for values missing completely "
        "at random",
        "not lavaan's default",
        "note",
    ),
    "robust indices": Words(
        "an index is the square of a t statistic from the spread over independent units (clusters, where rows are in "
        "such), not a fall of chi-square; {ask_plain_indices} gives that, for independent and normal rows",
        "robust",
        "note",
    ),
    "contradicted": Words(
        "the data contradict that {restriction} (p = {p:.2g}), on which this answer rests: without it, with "
        "{edge} in the graph, the answer would move by about {change:.3g} ({standard_errors:+.1f} standard errors)",
        "contradicted: {restriction}",
        level="doubt",
    ),
    "contradicted, one of several": Words(
        "the data contradict what this answer rests on (p = {p:.2g}): that {restriction}, or that {others}, which data "
        "cannot tell apart; without the first, with {edge} in the graph, the answer would move by about {change:.3g} "
        "({standard_errors:+.1f} standard errors)",
        "contradicted: {restriction}, or the like",
        level="doubt",
    ),
    "contradicted interval": Words(
        "the data contradict that {restriction} (p = {p:.2g}), on which the width of this interval rests: with {edge} "
        "in the graph the standard error would be {widening:.2f} times as large",
        "contradicted: {restriction}",
        level="doubt",
    ),
    # what the rows are
    "coded": Words("{variable} is 1 for {one!r} and 0 for {zero!r}", level="note"),
    "indicator": Words(
        "{variable} is 1 where {column} is {one!r}, else 0; its effects are differences from {zero!r}", level="note"
    ),
    "counted rows": Words(
        "{lines:,.0f} rows count as {rows:,.0f} by their weights; weights of a survey are sampling weights",
        level="note",
    ),
    "sampling weights": Words(
        "rows have sampling weights: for a mean, {rows:,.0f} of them tell as much as {worth:,.0f} of equal weight",
        level="note",
    ),
    # variables that are not continuous
    "not continuous": Words(
        "{variables}: means and effects hold (of a 0/1 variable they are probabilities), what needs a normal "
        "distribution does not",
        level="note",
    ),
    "linear probability": Words(
        "{variable} is 0 or 1: its mean is the probability of 1, and effects on it are changes of that (linear "
        "probability)",
        "linear probability",
        level="note",
    ),
    "two values": Words(
        "{variable} is {low:g} or {high:g}: its mean lies between them as the probability of {high:g} does between 0 "
        "and 1 (linear probability)",
        "linear probability",
        level="note",
    ),
    "not normal": Words(
        "{what}: of this normal distribution only the mean is meant for it, not the variance and the shape",
        "not normal: only the mean holds",
    ),
    "spread not equal": Words(
        "{what}: its spread moves with its mean, and this answer takes it for the same everywhere",
        "its spread is not the same everywhere",
    ),
    "event of few values": Words(
        "{what}, and this answer takes it for normally distributed: it may be far off",
        "{variable} is not normal",
    ),
    "evidence of two values": Words(
        "{variable} has two values, and what is concluded from having seen one of them takes it for normally "
        "distributed: the answer may be far off",
        "{variable} is not normal",
    ),
    "indicator alone": Words(
        "{variable} is set while {others} stay as they are, though at most one of them can be 1: hold these too, "
        "do(..., {fix})",
        "other levels not held",
    ),
    "outside": Words(
        "the mean {value:.4g} of {variable} lies outside of its values {low:g} and {high:g}: a straight line does not "
        "hold so far",
        "outside of {low:g} to {high:g}",
    ),
    "weights not counted": Words(
        "the rows of this fit have sampling weights and are not at hand, so {what} takes them for equally telling and "
        "may reject what is true: fit a table or a file, or save with save(path, rows=True)",
        "sampling weights ignored",
    ),
    # what an interval does not allow for
    "sampling weights ignored": Words(
        "this interval takes all rows for equally telling, and with their weights {rows:,.0f} rows are worth "
        "{worth:,.0f}: {ask_robust} allows for that",
        "sampling weights ignored",
        level="doubt",
    ),
    "sampling weights without rows": Words(
        "without the rows this interval takes them for equally telling, and with their weights {rows:,.0f} rows are "
        "worth {worth:,.0f}: fit a table or a file, and save with its rows",
        "sampling weights ignored",
        level="doubt",
    ),
    "unequal spread ignored": Words(
        "this interval takes the errors of {variables} for equally spread, which those of 0/1 variables are not: "
        "{ask_robust} does not need it",
        "unequal spread ignored",
        level="doubt",
    ),
    "unequal spread without rows": Words(
        "without the rows this interval takes the errors of {variables} for equally spread, which those of 0/1 "
        "variables are not: fit a table or a file, and save with its rows",
        "unequal spread ignored",
        level="doubt",
    ),
    # what the text of a graph says and the graph does not hold
    "lavaan definitions": Words(
        "what := defines is no part of a graph and was left out: {names}. Ask for it as a question, for instance "
        "{ask_path}",
        short=":= left out",
        level="note",
    ),
    "lavaan outcomes": Words(
        "sem() of lavaan would let the errors of outcomes that cause nothing covary: {names}. Here they do not unless "
        "the text says so: write {first} ~~ {second} if they do, {first} ~~ 0*{second} if not",
        short="outcomes do not covary, as they do in sem()",
    ),
    "lavaan growth": Words(
        "all loadings of {factor!r} are given, as for growth() of lavaan, which would free the mean of {factor} and "
        "hold the intercepts of {indicators} at zero. It was read as sem() reads it: a mean of zero, free intercepts",
        short="growth factor read as by sem()",
    ),
    "lavaan factor mean": Words(
        "{factor} ~ 1 frees the mean of a hidden cause; it is zero here, the intercepts of its children are free",
        short="mean of a hidden cause is zero",
    ),
    # groups
    "group with holes": Words(
        "{incomplete:,} of {rows:,} rows are incomplete and count for the values that they have (full-information "
        "maximum likelihood, which assumes missing at random)",
        "{incomplete:,} of {rows:,} rows incomplete",
        "note",
    ),
    "group pair apart": Words(
        "no row has both {first} and {second}: how they covary is known through the model alone",
        "no row has both {first} and {second}",
    ),
    "group without maximum": Words(
        "the likelihood of this group reached no maximum ({code}): do not trust its row", "no maximum reached", "doubt"
    ),
    "group at boundary": Words(
        "a noise variance of this group is estimated at zero; intervals there are not reliable",
        "a noise variance is zero",
        "doubt",
    ),
}


@dataclass(frozen=True)
class Note:
    """A finding: ``code`` says what kind, ``facts`` hold its figures and names; ``str(note)`` is for people."""

    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.code not in _WORDS:
            raise KeyError(f"no words for {self.code!r}")

    def __hash__(self) -> int:
        return hash((self.code, tuple(sorted((k, str(v)) for k, v in self.facts.items()))))

    def __str__(self) -> str:
        return self.words()

    @property
    def level(self) -> Level:
        """A "doubt" speaks against an interval, a "warning" against the number; a "note" only says what it is, and an
        "aside" is for those who ask for an explanation.
        """
        return _WORDS[self.code].level

    def words(self, front: Front = "python") -> str:
        """The sentence, in the words of a front."""
        return _WORDS[self.code].text.format(**{"why": self.why, **_ASKS[front], **self.facts})

    def told(self, front: Front) -> Note:
        """The same, its words fixed in those of a front."""
        code = {"doubt": "doubt", "warning": "text", "note": "remark", "aside": "aside"}[self.level]
        return Note(code, {"text": self.words(front)})

    @property
    def why(self) -> str:
        """The finding alone, without advice."""
        return _WORDS[self.code].why.format(**self.facts)

    @property
    def short(self) -> str:
        """A few words, for a column of a table."""
        words = _WORDS[self.code]
        return (words.short or words.text).format(**{"why": self.why, **_ASKS["python"], **self.facts})


def note(code: str, /, **facts: Any) -> Note:
    """A note with these facts."""
    return Note(code, facts)


def in_words(notes: Iterable[Note], front: Front = "python") -> tuple[str, ...]:
    """The sentences of notes, each once."""
    return tuple(dict.fromkeys(n.words(front) for n in notes))


def warnings_of(notes: Iterable[Note], front: Front = "python") -> tuple[str, ...]:
    """The sentences of all notes that speak against something, each once."""
    return in_words((n for n in notes if n.level in ("doubt", "warning")), front)


def in_short(notes: Iterable[Note]) -> str:
    """Notes as the cell of a table."""
    return "; ".join(dict.fromkeys(n.short for n in notes))

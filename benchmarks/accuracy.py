"""Accuracy and honesty: what each tool answers on each graph, how far off, with what interval, or how it fails."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from benchmarks.problems import QUESTIONS, Problem, Question, question_problem
from benchmarks.tools import HALFTREK, PEERS, SEMOPY_LATENT, Tool, ask

ROWS = 1_000
TOOLS = (HALFTREK, *PEERS[:5], SEMOPY_LATENT, *PEERS[5:])
KINDS = {"refused": "refuses", "inapplicable": "not for this", "error": "error"}
QUICK = ("front-door", "napkin", "bow")
WRONG = 4.0  # standard errors of the mean answer: beyond this the answers are not about the truth
FAR = 5.0  # attainable standard errors: answers that are off by so much are of no use, biased or scattered


def measure(quick: bool) -> list[dict[str, Any]]:
    """One entry for each question and tool."""
    samples = 6 if quick else 20
    entries: list[dict[str, Any]] = []
    for question in QUESTIONS:
        if quick and question.name not in QUICK:
            continue
        problem = question_problem(question, ROWS, samples)
        problem.hints["intervals"] = not quick  # DoWhy's are bootstrapped, half a minute each
        ask_one = partial(_ask, question, problem, 60.0 if quick else 300.0)
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # nothing is timed here, so tools may run side by side
            entries += pool.map(ask_one, TOOLS)
    return entries


def _ask(question: Question, problem: Problem, seconds: float, tool: Tool) -> dict[str, Any]:
    found = ask(tool, problem, "answer", *filter(None, [tool.variant]), seconds=seconds)
    entry = {"question": question.name, "tool": tool.name, "truth": question.truth(), **judge(question, found)}
    print(f"{question.name:26s} {tool.name:26.26s} {entry['verdict']}", flush=True)
    return entry


def judge(question: Question, found: dict[str, Any]) -> dict[str, Any]:
    """What a tool's answers come to: a verdict in words, and numbers where there are any."""
    for why in ("absent", "gave_up", "error"):
        if why in found:
            return {"verdict": {"absent": "absent", "gave_up": "gave up", "error": "error"}[why], "note": found[why]}
    answers = found["answers"]
    values = np.array([a["value"] for a in answers if a.get("value") is not None], dtype=float)
    if len(values) and not np.isfinite(values).any():
        return {"verdict": "not a number", "note": answers[0].get("warning", "")}
    values = values[np.isfinite(values)]
    first = answers[0]
    if not len(values):
        if "formula" in first:
            return {"verdict": "formula only", "note": first["formula"]}
        kind = next((k for k in KINDS if k in first), "error")
        return {"verdict": KINDS[kind], "note": first.get(kind, "")}
    truth = question.truth()
    bounded = [a for a in answers if a.get("low") is not None and a.get("high") is not None]
    warned = sum(bool(a.get("warning")) for a in answers)
    errors = values - truth
    result: dict[str, Any] = {
        "values": values.tolist(),
        "median": float(np.median(values)),
        "error": float(np.sqrt(np.mean(errors**2))),
        "failed": len(answers) - len(values),
        "intervals": len(bounded),
        "covered": sum(a["low"] <= truth <= a["high"] for a in bounded),
        "warned": warned,
        "note": next((a["warning"] for a in answers if a.get("warning")), first.get("formula", "")),
    }
    verdict = _verdict(question, errors, warned, len(answers))
    if "formula" in first:  # the tool's answer is the formula; the number is only what it says
        verdict = verdict.replace("number", "formula")
    return {**result, "verdict": verdict}


def _verdict(question: Question, errors: np.ndarray, warned: int, asked: int) -> str:
    heard = ", with a warning" if warned == asked else f", warned {warned} of {asked} times"
    heard = heard if warned else " WITHOUT A WARNING"
    if not question.identified:
        return "a number for what cannot be known" + heard
    # few answers may lie close together by chance: nobody's spread is less than the attainable one
    attainable = question.attainable(ROWS)
    spread = max(float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0, attainable) / np.sqrt(len(errors))
    biased = abs(float(np.mean(errors))) > max(WRONG * spread, 0.03)
    if biased or float(np.sqrt(np.mean(errors**2))) > FAR * attainable:
        return "wrong number" + heard
    return "right"

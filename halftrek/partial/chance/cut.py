"""How much likelihood a value may lose before the data exclude it, although only a set is identified.

At an end of the set the true value and the assumptions that bind there put k restrictions on the covariance. One is an
equation, the others are inequalities, so the deviance at the truth is at most a mixture of chi-squared with k - 1 and k
degrees of freedom, half each (the bound of Perlman 1969 for one-sided tests).
"""

from __future__ import annotations

from statistics import NormalDist


def mixture_tail(statistic: float, restrictions: int) -> float:
    """``(P(chi2_{k-1} > s) + P(chi2_k > s)) / 2``; with no degrees of freedom chi-squared is 0."""
    from scipy.special import chdtrc

    if statistic <= 0.0:
        return 1.0
    if restrictions < 1:
        return 0.0
    fewer = float(chdtrc(restrictions - 1, statistic)) if restrictions > 1 else 0.0
    return 0.5 * (fewer + float(chdtrc(restrictions, statistic)))


def cut_for(restrictions: int, level: float = 0.95, *, equal: bool = False) -> float:
    """The deviance up to which values are kept: chi-squared of one restriction, else of the mixture.

    ``equal``: all of them are equations, and it is chi-squared of so many.
    """
    if restrictions <= 1:
        return NormalDist().inv_cdf(0.5 + level / 2.0) ** 2
    from scipy.optimize import brentq
    from scipy.special import chdtri

    high = float(chdtri(restrictions, 1.0 - level))
    if equal:
        return high
    return float(brentq(lambda c: mixture_tail(c, restrictions) - (1.0 - level), 1e-12, high + 1e-9, xtol=1e-12))


def stoye_quantile(width: float, error: float, level: float = 0.95) -> float:
    """How many standard errors beyond each end of a set of some width, so that its worse point is covered.

    ``Phi(c + width / error) - Phi(-c) = level`` (Imbens and Manski 2004; Stoye 2009, Econometrica 77, section 3).
    """
    normal = NormalDist()
    if error <= 0.0:
        return 0.0
    from scipy.optimize import brentq

    shift = min(width / error, 40.0)

    def short(c: float) -> float:
        return normal.cdf(c + shift) - normal.cdf(-c) - level

    return float(brentq(short, 0.0, normal.inv_cdf(0.5 + level / 2.0) + 1e-9, xtol=1e-12))

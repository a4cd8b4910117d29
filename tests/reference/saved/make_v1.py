"""What halftrek 0.1.0 was asked for the files of format 1 in this folder; run elsewhere, it shows what it writes today.

python -m tests.reference.saved.make_v1 folder
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import halftrek as ht


def write(folder: Path) -> None:
    study = ht.dataset("front_door")
    fit = ht.fit(study.graph, study.path)
    answer = fit.effect("smoking", "cancer_risk")
    assert study.model is not None
    fit.save(folder / "fit_v1.json")
    answer.save(folder / "answer_v1.json")
    ht.save(study.model, folder / "model_v1.json")
    unit = "P(cancer_risk_{smoking=1}, tar_{smoking=0} | smoking=0, cancer_risk=2)"
    study.model.query(unit).save(folder / "counterfactual_v1.json")
    study.model.query("P(cancer_risk | do(smoking=1), tar=0.5)").save(folder / "intervention_v1.json")
    numbers = {
        "loglik": fit.loglik,
        "mean": fit.query("P(cancer_risk | do(smoking=1))").mean,
        "value": answer.value,
        "interval": answer.interval,
        "true_value": study.model.query("smoking ~> cancer_risk").value,
    }
    (folder / "expected_v1.json").write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))

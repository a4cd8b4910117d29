"""A fixed sample of mutated requests; ``requests`` makes as many as are wanted."""

import numpy as np

from tests.fuzz import requests


def test_no_request_meets_a_defect() -> None:
    tried, failures = requests.mutated_requests(np.random.default_rng(19), 250)
    assert tried == 250
    assert not failures, "\n".join(failures[:5])

"""Each optional part in a fresh environment (``make test-extras``); tests/project/test_house.py compares its lists."""

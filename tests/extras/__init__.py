"""Each optional part in a fresh environment (``make test-extras``); tests/project/test_extras.py reads the same lists."""

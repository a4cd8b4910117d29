"""Settings of all tests: machines are noisy, so that no example fails for the time it takes."""

from hypothesis import settings

settings.register_profile("halftrek", deadline=None)
settings.load_profile("halftrek")

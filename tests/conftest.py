"""Settings for the whole suite."""

from hypothesis import HealthCheck, settings

# The same examples in every run: a failure on one machine is a failure on all.
settings.register_profile(
    "credalens",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile("credalens")

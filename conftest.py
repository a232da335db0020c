"""What cannot be collected everywhere."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/credalens/predictors/torch/*"]

"""An HTTP service that applies a policy to the predictions of requests; it keeps no state."""

from credalens.service.application import Application, Limits
from credalens.service.scorer import Scorer
from credalens.service.server import serve

__all__ = ["Application", "Limits", "Scorer", "serve"]

"""The JSON schema of the requests of a policy."""

from __future__ import annotations

from typing import Any

from credalens.policy.policy import Policy


def request_schema(policy: Policy) -> dict[str, Any]:
    """Return the JSON schema of the bodies of ``POST /score``.

    Examples
    --------
    >>> from credalens.policy import Policy, ThresholdRule
    >>> from credalens.service.request_schema import request_schema
    >>> policy = Policy(n_classes=2, member_names=["a", "b"], rule=ThresholdRule(0.3))
    >>> request_schema(policy)["$defs"]["row"]["maxItems"]
    2
    """
    members, classes = list(policy.member_names), list(policy.labels)
    M, K = policy.n_members, policy.n_classes
    identifier = {"type": ["string", "integer"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Predictions of the members of a credalens policy",
        "$ref": "#/$defs/predictions",
        "$defs": {
            "distribution": {
                "description": f"One number per class: {', '.join(classes)}.",
                "type": "array",
                "items": {"type": "number"},
                "minItems": K,
                "maxItems": K,
            },
            "row": {
                "description": f"One distribution per member: {', '.join(members)}.",
                "type": "array",
                "items": {"$ref": "#/$defs/distribution"},
                "minItems": M,
                "maxItems": M,
            },
            "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
            "predictions": {
                "anyOf": [
                    {"$ref": "#/$defs/row"},
                    {"$ref": "#/$defs/rows"},
                    {"$ref": "#/$defs/document"},
                ]
            },
            "document": {
                "type": "object",
                "required": ["predictions"],
                "additionalProperties": False,
                "properties": {
                    "predictions": {
                        "anyOf": [{"$ref": "#/$defs/row"}, {"$ref": "#/$defs/rows"}]
                    },
                    "ids": {
                        "description": "Returned as id: one for one row, else one per row.",
                        "anyOf": [{"type": "null"}, identifier,
                                  {"type": "array", "items": identifier}],
                    },
                    "members": {
                        "description": "The order of the members, to make sure that it is right.",
                        "enum": [members, None],
                    },
                    "classes": {
                        "description": "The order of the classes, to make sure that it is right.",
                        "enum": [classes, None],
                    },
                },
            },
        },
    }  # fmt: skip

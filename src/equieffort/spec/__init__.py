"""The spec: one YAML file that says what is audited and by which rules (`docs/spec.md`)."""

from __future__ import annotations

from equieffort.data.inputs import DataSource
from equieffort.spec.keys import json_schema
from equieffort.spec.nodes import SpecError
from equieffort.spec.parsed import ModelSource, Spec
from equieffort.spec.read import parse_spec, read_spec

__all__ = ["DataSource", "ModelSource", "Spec", "SpecError", "json_schema", "parse_spec", "read_spec"]

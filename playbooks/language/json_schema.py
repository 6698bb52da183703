"""The JSON Schema (2020-12) of a shape: what may be written, for editors and for the manual."""

from collections.abc import Mapping
from typing import Any

from playbooks.language import kinds
from playbooks.language.checking import Choice, Field, Mapped, fields_of, kind_of
from playbooks.language.kinds import Kind
from playbooks.language.schema import HypothesesFile, PlaybookFile
from playbooks.language.shapes import Bounds, Shape
from playbooks.language.system_schema import CampaignFile

Schema = dict[str, Any]

_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
}


def json_schemas() -> dict[str, Schema]:
    """What `campaign schema` prints: the schemas of `campaign`, `playbook` and `hypotheses`."""
    files: dict[str, type[Shape]] = {
        "campaign": CampaignFile,
        "playbook": PlaybookFile,
        "hypotheses": HypothesesFile,
    }
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {name: dialect | describe(shape) for name, shape in files.items()}


def describe(shape: type[Shape]) -> Schema:
    """The JSON Schema of `shape`, with those that it leads to under `$defs`, keys in order."""
    schemas = _Schemas()
    whole = schemas.of_shape(shape)
    ordered: Schema = _in_order({"$defs": schemas.named, **whole})
    return ordered


class _Schemas:
    """Describes kinds; the shapes that they lead to are in `named`."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}

    def of_shape(self, shape: type[Shape]) -> Schema:
        fields = fields_of(shape)
        required = [key for key, one in fields.items() if one.required]
        return {
            **({"description": shape.__doc__} if shape.__doc__ else {}),
            "title": shape.__name__.removesuffix("Shape"),
            "type": "object",
            "properties": {key: self._of_field(one) for key, one in fields.items()},
            "additionalProperties": False,
            **({"required": required} if required else {}),
        }

    def _of_field(self, field: Field) -> Schema:
        entry = field.entry
        default = {} if field.required or entry.default is None else {"default": entry.default}
        about = {"title": entry.title, "description": entry.description}
        return {**self.of(field.kind), **about, **default}

    def of(self, kind: Kind) -> Schema:
        """What may be written where `kind` stands."""
        match kind:
            case kinds.Described(inner, schema, text):
                described = self.of(inner) if schema is None else dict(schema)
                return {"anyOf": [self.of(kind_of(text)), described]} if text else described
            case kinds.Optional(inner) | kinds.Rewritten(inner) | kinds.Checked(inner):
                return self.of(inner)
            case kinds.Listed(item, least):
                return {"type": "array", "items": self.of(item), **_least("minItems", least)}
            case kinds.Named(name, value, least):
                return self._of_names(name, value) | _least("minProperties", least)
            case Mapped(shape):
                return self._named(shape)
            case Choice(variants):
                return {"oneOf": [self._named(one) for one in variants.values()]}
        return _of_scalar(kind)

    def _of_names(self, name: Kind, value: Kind) -> Schema:
        names, values = self.of(name), self.of(value)
        if "pattern" in names:
            return {"type": "object", "patternProperties": {names["pattern"]: values}}
        del names["type"]
        limits = {"propertyNames": names} if names else {}
        return {"type": "object", "additionalProperties": values, **limits}

    def _named(self, shape: type[Shape]) -> Schema:
        name = shape.__name__
        if name not in self.named:
            self.named[name] = {}
            self.named[name] = self.of_shape(shape)
        return {"$ref": f"#/$defs/{name}"}


def _of_scalar(kind: Kind) -> Schema:
    match kind:
        case kinds.Text(least):
            return {"type": "string", **_least("minLength", least)}
        case kinds.Truth():
            return {"type": "boolean"}
        case kinds.Number(whole, bounds):
            return {"type": "integer" if whole else "number", **_bounds(bounds)}
        case kinds.Word(words):
            return _of_words(words)
    raise TypeError(f"{kind} is not described")


def _of_words(words: tuple[object, ...]) -> Schema:
    types = {str: "string", bool: "boolean"}
    only = {"const": words[0]} if len(words) == 1 else {"enum": list(words)}
    return {"type": types[type(words[0])], **only}


def _least(key: str, length: int) -> Schema:
    return {key: length} if length else {}


def _bounds(bounds: Bounds) -> Schema:
    found = {key: getattr(bounds, name) for name, key in _BOUNDS.items()}
    return {key: bound for key, bound in found.items() if bound is not None}


def _in_order(value: Any) -> Any:
    """With the keys of all mappings in order, but for properties, which stay as declared."""
    if isinstance(value, list):
        return [_in_order(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    ordered = {}
    for key in sorted(value):
        inner = value[key]
        if key == "properties":
            ordered[key] = {name: _in_order(one) for name, one in inner.items()}
        else:
            ordered[key] = inner if key == "default" else _in_order(inner)
    return ordered

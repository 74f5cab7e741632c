"""Checks objects strictly with the schema of a CustomResourceDefinition. Unknown keys are faults, as in kubectl's
--validate=strict."""
import re


def schema_of(crd, version):
    for entry in crd["spec"]["versions"]:
        if entry["name"] == version:
            return entry["schema"]["openAPIV3Schema"]
    raise KeyError(version)


def _type_fault(value, schema, path):
    if schema.get("x-kubernetes-int-or-string"):
        good = isinstance(value, (int, str)) and not isinstance(value, bool)
        return [] if good else [f"{path}: must be an integer or text, but is {value!r}"]
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
    kind = schema.get("type")
    if kind is None:
        return []
    good = isinstance(value, kinds[kind]) and not (kind in ("integer", "number") and isinstance(value, bool))
    return [] if good else [f"{path}: must be {kind}, but is {value!r}"]


def _value_faults(value, schema, path):
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{path}: {value!r} does not match {schema['pattern']}"
        if len(value) < schema.get("minLength", 0) or len(value) > schema.get("maxLength", 1 << 30):
            yield f"{path}: {value!r} has a wrong length"
    elif isinstance(value, (int, float)):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            yield f"{path}: {value} is out of range"
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0) or len(value) > schema.get("maxItems", 1 << 30):
            yield f"{path}: wrong number of entries"


def faults(value, schema, path="$"):
    """Returns everything that is wrong with the value."""
    found = _type_fault(value, schema, path)
    if found:
        return found
    found = list(_value_faults(value, schema, path))
    if isinstance(value, dict):
        properties, other = schema.get("properties", {}), schema.get("additionalProperties")
        free = schema.get("x-kubernetes-preserve-unknown-fields") or (not properties and other is None)
        if path == "$":
            properties = {**properties, "metadata": {}}  # the API server checks ObjectMeta
        for key, item in value.items():
            if key in properties:
                found += faults(item, properties[key], f"{path}.{key}")
            elif isinstance(other, dict):
                found += faults(item, other, f"{path}.{key}")
            elif not free and other is not True:
                found.append(f"{path}.{key}: unknown key")
        found += [f"{path}.{key}: required" for key in schema.get("required", []) if key not in value]
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            found += faults(item, schema["items"], f"{path}[{i}]")
    return found

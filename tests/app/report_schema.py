#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reports conform to docs/report.schema.json, which describes every key and refuses invalid reports.

usage: report_schema.py SCHEMA REPORT...
Needs python3-jsonschema; exit status 77 without it.
"""
import copy
import json
import sys

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)


def load(path):
    def refuse(word):
        raise ValueError(f"{path}: {word} is no JSON")

    with open(path, encoding="utf-8") as f:
        return json.load(f, parse_constant=refuse)


def described(schema, path=""):
    """Every key of the schema has a description."""
    for name, value in schema.get("properties", {}).items():
        # An app's own text for a shared key is in the schema.
        if isinstance(value, dict) and "description" not in value and name not in (
                "app", "compare", "steps", "interactions", "interactions_by_kind", "cost_seconds_by_kind", "network_alpha"):
            yield f"{path}/{name}: no description"
        if isinstance(value, dict):
            yield from described(value, f"{path}/{name}")
    for name, value in schema.get("$defs", {}).items():
        yield from described(value, f"{path}/{name}")


def changed(report):
    """Invalid reports, each with its error."""
    def change(what, function):
        other = copy.deepcopy(report)
        function(other)
        return what, other

    yield change("another schema", lambda r: r.update(schema=2))
    yield change("an unknown key", lambda r: r.update(surprise=1))
    yield change("no date", lambda r: r.pop("date"))
    yield change("a local date", lambda r: r.update(date="2026-11-26 13:08:12"))
    if report["steps"]:
        yield change("an unknown key of a step", lambda r: r["steps"][0].update(surprise=1))
        yield change("no ghosts in a step", lambda r: r["steps"][0].pop("ghosts_total"))
        yield change("no regret", lambda r: r.pop("regret"))
    yield change("a key of another program", lambda r: r.update(theta=0.5) if "theta" not in r else r.update(edges=1))
    yield change("an unknown kind", lambda r: r["cost_seconds_by_kind"].update(surprise=1e-9))
    if report["compare"]:
        yield change("an unknown key of a comparison", lambda r: r["compare"][0].update(surprise=1))
        yield change("no network", lambda r: r.pop("network_beta"))
    else:
        yield change("a network without comparison", lambda r: r.update(network_alpha=1.0))


def main(arguments):
    if len(arguments) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    schema = load(arguments[0])
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    complaints = list(described(schema))
    for path in arguments[1:]:
        report = load(path)
        errors = list(validator.iter_errors(report))
        complaints += [f"{path}: {'/'.join(map(str, e.absolute_path))}: {e.message[:300]}" for e in errors[:5]]
        for what, wrong in [] if errors else changed(report):
            if validator.is_valid(wrong):
                complaints.append(f"{path}: {what} is not refused")
    print("\n".join(complaints) if complaints else f"{len(arguments) - 1} reports are as described")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

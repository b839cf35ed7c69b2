#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""CITATION.cff, the Spack recipe and the CI workflows agree with the tree.

usage: check_papers.py SOURCE_ROOT
CITATION.cff has the required fields and the version of version.h; for all its variants the recipe passes existing Meson
options with valid values; each workflow is YAML and runs .ci/run. Without python3-yaml only the recipe is checked, and
the exit status is 77.
"""
import builtins
import contextlib
import itertools
import os
import re
import sys

try:
    import yaml
except ImportError:
    yaml = None

WORKFLOWS = [".github/workflows/ci.yml", ".gitlab-ci.yml", ".woodpecker.yaml"]
# Built-in Meson options and the values that the recipe may use.
BUILT_IN = {"default_library": ["shared", "static", "both"]}
FEATURE = ["enabled", "disabled", "auto"]


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def version_of(root):
    text = read(root, "sampling/include/equipoise/version.h")
    return ".".join(re.search(rf"define EQP_VERSION_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH"))


def meson_options(root):
    """Each build option and its valid values."""
    known = dict(BUILT_IN)
    for name, kind in re.findall(r"^option\('(\w+)', type: '(\w+)'", read(root, "meson_options.txt"), re.MULTILINE):
        known[name] = FEATURE if kind == "feature" else ["true", "false"]
    return known


def load_recipe(text):
    """The class of the recipe; words of Spack do nothing, except that `found` keeps their arguments."""
    found = {"variant": [], "version": [], "license": [], "conditions": []}

    class Words(dict):
        def __missing__(self, name):
            def word(*arguments, **named):
                found.setdefault(name, []).extend(arguments)
                for words in [named.get("when", ""), *(arguments if name == "when" else [])]:
                    found["conditions"] += re.findall(r"(?:^|\s)[+~](\w+)", words)
                return contextlib.nullcontext() if name == "when" else lambda function: function

            return object if name == "MesonPackage" else word

    words = Words(vars(builtins))
    del words["license"]
    scope = {"__builtins__": words, "__name__": "package"}
    exec(text.replace("from spack.package import *", ""), scope)
    return scope["Equipoise"], found


def spack(root):
    recipe, found = load_recipe(read(root, "packaging/spack/package.py"))
    known = meson_options(root)
    if found["version"] != [version_of(root)]:
        yield f"packaging/spack: versions {found['version']}, the tree has {version_of(root)}"
    if found["license"] != ["BSD-3-Clause"]:
        yield f"packaging/spack: licence {found['license']}"
    for name in set(found["conditions"]) - set(found["variant"]):
        yield f"packaging/spack: {name} is no variant"
    complaints = set()
    for values in itertools.product("+~", repeat=len(found["variant"])):
        package = recipe()
        package.spec = {sign + name for sign, name in zip(values, found["variant"])}
        for package.run_tests in (True, False):
            for argument in package.meson_args():
                match = re.fullmatch(r"-D(\w+)=(\w+)", argument)
                if not match or match.group(2) not in known.get(match.group(1), []):
                    complaints.add(f"packaging/spack: Meson does not take {argument}")
    for name in set(re.findall(r'"[+~](\w+)" in self.spec', read(root, "packaging/spack/package.py"))) | set(recipe.features):
        if name not in found["variant"]:
            complaints.add(f"packaging/spack: the recipe asks for {name}, which is no variant")
    yield from sorted(complaints)


def citation(root):
    cff = yaml.safe_load(read(root, "CITATION.cff"))
    for key in ("cff-version", "message", "title", "authors", "version", "license"):
        if not cff.get(key):
            yield f"CITATION.cff: no {key}"
    if str(cff["cff-version"]) != "1.2.0" or cff.get("type") != "software":
        yield "CITATION.cff: not software of version 1.2.0"
    if str(cff["version"]) != version_of(root):
        yield f"CITATION.cff: version {cff['version']}, the tree has {version_of(root)}"
    if cff["license"] != "BSD-3-Clause":
        yield f"CITATION.cff: licence {cff['license']}"
    for author in cff["authors"]:
        if not author.get("name") and not author.get("family-names"):
            yield f"CITATION.cff: an author without a name: {author}"
    for work in cff.get("references", []):
        for key in ("type", "title", "authors"):
            if not work.get(key):
                yield f"CITATION.cff: a reference without {key}: {work}"


def strings(node):
    if isinstance(node, dict):
        for value in node.values():
            yield from strings(value)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value)
    else:
        yield str(node)


def workflows(root):
    for path in WORKFLOWS:
        texts = list(strings(yaml.safe_load(read(root, path))))
        for wanted in ("./.ci/run", "debian:12"):
            if wanted not in texts:
                yield f"{path}: no {wanted}"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    root = arguments[0]
    complaints = list(spack(root))
    if yaml is not None:
        complaints += list(citation(root)) + list(workflows(root))
    print("\n".join(complaints) if complaints else "all as the tree says")
    if not complaints and yaml is None:
        print("python3-yaml is not installed: no look at CITATION.cff and workflows")
        return 77
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Hold includes and symbols of the layers against the graph in cmake/layers.cmake.

usage: check_layers.py BUILD_FOLDER. Reads `set(RGM_ALLOWED_<layer> ...)`; an edge is an #include of
another layer's header, or a symbol that an object file of the layer uses and one of another defines.
Fails on a header that declares what another layer defines, on an edge that is not allowed, on an rgmi_
symbol used across layers, on an include of another layer's private header, and on an allowed edge that
nothing uses.
"""
import collections
import functools
import json
import pathlib
import re
import subprocess
import sys

CMAKE = pathlib.Path("cmake/layers.cmake")


@functools.cache
def allowed_edges():
    """{layer: set of layers}, bottom up; a layer may name only those above it in the list."""
    graph = {}
    for layer, names in re.findall(r"set\(RGM_ALLOWED_(\w+)([^)]*)\)", CMAKE.read_text()):
        for name in names.split():
            if name not in graph:
                sys.exit(f"layers: {CMAKE}: {layer} names {name}, which is not a layer before it")
        graph[layer] = set(names.split())
    return graph


def layer_of(header):
    """Of a public header's name: graph_edit.h is a part of graph, graph_import.h another layer. A name
    that begins with no layer's is returned as it is."""
    layers = [layer for layer in allowed_edges() if f"{header}_".startswith(f"{layer}_")]
    return max(layers, key=len, default=header)


def included(layer, headers):
    """(used layer, file) of each direct #include in the layer's sources and its public headers."""
    files = [p for p in pathlib.Path("src", layer).rglob("*.[ch]*") if "_test." not in p.name]
    public = [p for p in pathlib.Path("include/regimen").glob("*.h") if layer_of(p.stem) == layer]
    for path in sorted(files + public):
        for kind, name in re.findall(r'^\s*#\s*include\s+([<"])([^>"]+)', path.read_text(), re.M):
            if kind == "<" and name.startswith("regimen/") and layer_of(name[8:-2]) not in (layer, "regimen"):
                yield layer_of(name[8:-2]), str(path)
            elif kind == '"' and name in headers and layer not in headers[name]:
                yield headers[name][0] + " (private header)", str(path)
            elif kind == '"' and "/" in name and not (path.parent / name).resolve().is_relative_to(
                    pathlib.Path("src", layer).resolve()):
                yield name + " (private header)", str(path)


def private_headers(layers):
    """{file name: layers that have it}."""
    found = collections.defaultdict(list)
    for layer in layers:
        for path in pathlib.Path("src", layer).rglob("*.h"):
            found[path.name].append(layer)
    return found


def symbols(build, layer, objects):
    """(defined, used): {symbol: source file} of the layer's object files."""
    defined, used = {}, collections.defaultdict(list)
    missing = [source for path, source in objects.items() if not pathlib.Path(path).exists()]
    if missing or not objects:
        sys.exit(f"layers: no object file of {(missing or [layer])[0]} in {build}: build first")
    listing = subprocess.run(["nm", "-A", "-P", *objects], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        match = re.match(r"(.*): (rgmi?_\w+) (\w)", line)
        if match:
            source = objects[match[1]]
            if match[3] == "U":
                used[match[2]].append(source)
            elif match[3] in "TDBRVWC":
                defined[match[2]] = source
    return defined, used


def declared(layer):
    """{public function or object: header} of the layer's headers."""
    found = {}
    for path in pathlib.Path("include/regimen").glob("*.h"):
        if layer_of(path.stem) != layer:
            continue
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        for name in re.findall(r"\b(rgm_\w+)\s*\(", text) + re.findall(r"\bextern\b[^;]*?\b(rgm_\w+)(?:\[\])?;", text):
            found[name] = str(path)
    return found


def object_files(build):
    """{layer: {object file: source file}} of what the build folder makes, tests apart."""
    found = collections.defaultdict(dict)
    for entry in json.loads((build / "compile_commands.json").read_text()):
        match = re.search(r" -o (src/(\w+)/CMakeFiles/(?:rgm_\2|regimen_cli)\.dir/\S+)", entry["command"])
        if match:
            found[match[2]][str(build / match[1])] = f"src/{match[2]}/{pathlib.Path(entry['file']).name}"
    return found


def main():
    build, graph = pathlib.Path(sys.argv[1]), allowed_edges()
    graph = {layer: names for layer, names in graph.items() if pathlib.Path("src", layer).is_dir()}
    headers = private_headers(graph)
    edges = collections.defaultdict(list)  # (layer, used) -> [what, where]
    for layer in graph:
        for used, where in included(layer, headers):
            edges[layer, used].append(("an #include", where))
    objects = object_files(build)
    tables = {layer: symbols(build, layer, objects[layer]) for layer in graph}
    owner = {name: (layer, where) for layer in graph for name, where in tables[layer][0].items()}
    bad = []
    for layer in graph:
        for name, header in declared(layer).items():
            if name in owner and owner[name][0] != layer:
                bad.append(f"{header} declares {name}, which {owner[name][1]} defines")
    for layer in graph:
        for name, places in tables[layer][1].items():
            other, where = owner.get(name, (layer, ""))
            if other == layer:
                continue
            edges[layer, other].append((name, f"{places[0]} (defined in {where})"))
            if name.startswith("rgmi_"):
                bad.append(f"{layer} uses {name}, which is {other}'s own: {places[0]}")
    for (layer, used), uses in edges.items():
        if used not in graph[layer]:
            for what, where in uses:
                bad.append(f"{layer} may not use {used}: {what} in {where}")
    for layer, names in graph.items():
        for name in sorted(names):
            if name in graph and (layer, name) not in edges:
                bad.append(f"{CMAKE} allows {layer} to use {name}, but nothing does")
    if "-v" in sys.argv:
        for layer in graph:
            print(f"{layer:<12} {' '.join(f'{n}({len(edges[layer, n])})' for n in graph if (layer, n) in edges)}")
    for line in bad:
        print("layers:", line, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

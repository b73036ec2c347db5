"""Other people's downloads, written as the named experiments read them (docs/data_sets.md has the addresses).

  scripts/data_sets.py digits FROM TO   optdigits.tra and optdigits.tes of UCI
  scripts/data_sets.py mutag FROM TO    MUTAG_A.txt and its like of TUDataset; of FROM/10fold_idx, if it is there, the
                                        folds of Xu et al.
  scripts/data_sets.py cora FROM TO     ind.cora.* of Planetoid; needs numpy and scipy, which wrote them

TO is a new folder. Nothing is downloaded.
"""
import gzip
import pathlib
import pickle
import sys


def write(path, lines):
    """A gzip file with the same bytes each time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file, gzip.GzipFile("", "wb", mtime=0, fileobj=file) as out:
        out.write("".join(f"{line}\n" for line in lines).encode())


def digits(source, to):
    for name, part in (("optdigits.tra", "train"), ("optdigits.tes", "test")):
        lines = (source / name).read_text().split()
        wrong = [line for line in lines if line.count(",") != 64]
        if wrong:
            sys.exit(f"{source / name}: a line has not 65 numbers: {wrong[0]}")
        write(to / f"{part}.csv.gz", lines)


def mutag(source, to):
    def numbers(name):
        return [tuple(map(int, line.split(","))) for line in (source / f"MUTAG_{name}.txt").read_text().splitlines()]

    graph_of = [graph for graph, in numbers("graph_indicator")]
    edges = [(a - 1, b - 1) for a, b in numbers("A") if a < b]
    first = [graph_of.index(graph + 1) for graph in range(max(graph_of))]
    nodes = [graph_of.count(graph + 1) for graph in range(max(graph_of))]
    by_graph = [[] for _ in nodes]
    for a, b in edges:
        if graph_of[a] != graph_of[b]:
            sys.exit(f"{source}/MUTAG_A.txt: nodes {a + 1} and {b + 1} are of two graphs")
        begin = first[graph_of[a] - 1]
        by_graph[graph_of[a] - 1].append((a - begin, b - begin))
    raw = to / "raw"
    write(raw / "edge.csv.gz", [f"{a},{b}" for graph in by_graph for a, b in sorted(graph)])
    write(raw / "num-node-list.csv.gz", nodes)
    write(raw / "num-edge-list.csv.gz", [len(graph) for graph in by_graph])
    write(raw / "node-feat.csv.gz", [kind for kind, in numbers("node_labels")])
    write(raw / "graph-label.csv.gz", [label + 1 for label, in numbers("graph_labels")])  # -1 would be none
    for path in sorted((source / "10fold_idx").glob("*_idx-*.txt")):
        part, fold = path.stem.split("_idx-")
        if part in ("train", "test"):
            write(to / "split" / f"fold-{fold}" / f"{part}.csv.gz", path.read_text().split())


class Unpickler(pickle.Unpickler):
    """Arrays, sparse matrices and lists of neighbours; a pickle can name any function, and gets no other."""

    allowed = {"_reconstruct", "ndarray", "dtype", "csr_matrix", "defaultdict", "list"}

    def find_class(self, module, name):
        if name not in self.allowed:
            raise pickle.UnpicklingError(f"{module}.{name} is in the file, which only arrays should be")
        if name == "csr_matrix":
            module = "scipy.sparse"
        elif name == "_reconstruct":
            module = "numpy.core.multiarray"
        elif name == "list":
            module = "builtins"
        return super().find_class(module, name)


def cora(source, to):
    def load(name):
        with open(source / f"ind.cora.{name}", "rb") as file:
            return Unpickler(file, encoding="latin1").load()

    train, graph = len(load("y")), load("graph")
    import numpy
    import scipy.sparse

    test = [int(line) for line in (source / "ind.cora.test.index").read_text().split()]
    # The test papers are at the end, in another order than their numbers.
    words = scipy.sparse.vstack([load("allx"), load("tx")]).toarray()
    classes = numpy.vstack([load("ally"), load("ty")]).argmax(1)
    words[test] = words[sorted(test)]
    classes[test] = classes[sorted(test)]
    edges = sorted({(min(a, b), max(a, b)) for a in graph for b in graph[a] if a != b})
    raw, split = to / "raw", to / "split" / "planetoid"
    write(raw / "edge.csv.gz", [f"{a},{b}" for a, b in edges])
    write(raw / "num-node-list.csv.gz", [len(classes)])
    write(raw / "num-edge-list.csv.gz", [len(edges)])
    write(raw / "node-feat.csv.gz", [",".join(str(int(word)) for word in row) for row in words])
    write(raw / "node-label.csv.gz", classes)
    write(split / "train.csv.gz", range(train))
    write(split / "valid.csv.gz", range(train, train + 500))
    write(split / "test.csv.gz", sorted(test))


def main():
    makers = {"digits": digits, "mutag": mutag, "cora": cora}
    if len(sys.argv) != 4 or sys.argv[1] not in makers:
        sys.exit(__doc__)
    to = pathlib.Path(sys.argv[3])
    if to.exists():
        sys.exit(f"{to} is there already, and stays as it is")
    makers[sys.argv[1]](pathlib.Path(sys.argv[2]), to)
    print(f"wrote    {to}")


if __name__ == "__main__":
    main()

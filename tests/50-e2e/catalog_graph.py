"""Reads what catalog.sh fetched with libraries that others wrote; each check prints a line. Arguments:
same A.jsonld B.ttl         both are the same graph, and how many triples it has
nt A.ttl                    sorted N-Triples, blank nodes by their contents
atom FILE                   title, id, author and links of the feed, as feedparser reads it
prov FILE                   entities, activities, agents and relations, as the prov library reads PROV-JSON
"""
import sys


def graph(path):
    import rdflib
    form = "json-ld" if path.endswith("jsonld") else "turtle"
    return rdflib.Graph().parse(path, format=form)


def same(a, b):
    from rdflib.compare import isomorphic
    x, y = graph(a), graph(b)
    print("same" if isomorphic(x, y) else "different", len(x))


def nt(path):
    from rdflib.compare import to_canonical_graph
    lines = to_canonical_graph(graph(path)).serialize(format="nt").splitlines()
    print("\n".join(sorted(line for line in lines if line.strip())))


def atom(path):
    import feedparser
    d = feedparser.parse(path)
    assert not d.bozo, d.bozo_exception
    print(d.version, d.feed.title, d.feed.author, len(d.entries))
    print(" ".join(sorted({link.rel for link in d.feed.links})))
    for e in d.entries:
        print(e.id.rsplit("/", 1)[0].split("//")[1].split("/", 1)[1], e.updated[:10], e.title)


def prov(path):
    from prov.model import ProvDocument
    d = ProvDocument.deserialize(path, format="json")
    kinds = {}
    for r in d.get_records():
        kinds[type(r).__name__] = kinds.get(type(r).__name__, 0) + 1
    print(" ".join(f"{k}:{n}" for k, n in sorted(kinds.items())))


{"same": same, "nt": nt, "atom": atom, "prov": prov}[sys.argv[1]](*sys.argv[2:])

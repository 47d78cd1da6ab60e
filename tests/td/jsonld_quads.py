"""Compares statements with those of another processor of JSON-LD.

The argument names the folder with the contexts: nothing is fetched. Each line of the input has the name of a
description, its text and its statements as N-Quads; what differs is printed as a line of JSON.
"""
import collections
import hashlib
import inspect
import json
import pathlib
import sys
import textwrap

from pyld import jsonld

FOLDER = pathlib.Path(sys.argv[1])
CONTEXTS = {
    "https://www.w3.org/2022/wot/td/v1.1": "td-1.1.jsonld",
    "https://www.w3.org/2019/wot/td/v1": "td-1.0.jsonld",
    "https://www.w3.org/2022/wot/discovery": "discovery.jsonld",
    "https://w3c.github.io/wot-discovery/context/discovery-context.jsonld": "discovery.jsonld",
    "https://eclipse.dev/lmos/protocol/v1": "lmos.jsonld",
}
LOADED = {url: json.loads((FOLDER / name).read_text()) for url, name in CONTEXTS.items()}


# What names the members of a map stands in the definition of its term in the active context (JSON-LD 1.1 API, section
# 5.1.2, step 13.8.2); pyld reads that of the context which the term itself brings, where the term may be another one.
SOURCE = textwrap.dedent(inspect.getsource(jsonld.JsonLdProcessor._expand_object))
TAKEN = "get_context_value(term_ctx, key, '@index')"
assert TAKEN in SOURCE
exec(SOURCE.replace(TAKEN, "get_context_value(active_ctx, key, '@index')"), jsonld.__dict__)
jsonld.JsonLdProcessor._expand_object = jsonld.__dict__["_expand_object"]


def load(url, options):
    document = LOADED.get(url, {"@context": {}})
    return {"contentType": "application/ld+json", "contextUrl": None, "documentUrl": url, "document": document}


def canonical(quads):
    """The statements with names for blank nodes that follow from what is said of them, as often as they are there.

    Canonicalization proper (URDNA2015) takes minutes for descriptions with many schemas that are alike.
    """
    dataset = jsonld.JsonLdProcessor.parse_nquads(quads) if isinstance(quads, str) else quads
    rows = []
    for graph, triples in dataset.items():
        for triple in triples:
            terms = [triple["subject"], triple["predicate"], triple["object"]]
            terms.append({"type": "blank node" if graph.startswith("_:") else "IRI", "value": graph})
            rows.append([(term["type"], term["value"], term.get("datatype"), term.get("language")) for term in terms])
    names = {term: "" for row in rows for term in row if term[0] == "blank node"}

    def show(term):
        if term[0] == "blank node":
            return "_:" + names[term][:12]
        return " ".join(str(part) for part in term[1:] if part)

    for _ in range(12):
        said = {node: [] for node in names}
        for row in rows:
            for place, term in enumerate(row):
                if term in said:
                    said[term].append(f"{place} " + " | ".join("self" if other == term else show(other) for other in row))
        names = {node: hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest() for node, lines in said.items()}
    return collections.Counter(" | ".join(map(show, row)) for row in rows)


for line in sys.stdin:
    row = json.loads(line)
    try:
        theirs = jsonld.to_rdf(json.loads(row["text"]), {"documentLoader": load, "base": ""})
        theirs = canonical(theirs)
    except jsonld.JsonLdError as error:
        theirs = collections.Counter([f"error {error.code}"])
    ours = row["quads"]
    ours = collections.Counter(["error"]) if ours is None else canonical(ours)
    print(json.dumps({
        "name": row["name"],
        "statements": sum(theirs.values()),
        "ours": sorted(ours - theirs)[:6],
        "theirs": sorted(theirs - ours)[:6],
    }))

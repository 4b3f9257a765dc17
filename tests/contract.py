#!/usr/bin/python3
"""Does every answer of a test run keep the promise of its route?

    tests/contract.py OPENAPI FOLDER

OPENAPI is what `freshet docs openapi` prints, FOLDER holds what the FastCGI client of the tests recorded
(RECORD, tests/40-service/fcgi_client.h). Each answer must have a status and a content type that the
description has for its route, and a body that fits their schema; what is no JSON is read by a parser of its
format. A route, or a representation of one, that was never answered is a failure: it has no test.
Ends with "N passed, N failed"; exit 1 when something failed.
"""
import collections
import csv
import glob
import hashlib
import io
import json
import re
import sys
import xml.etree.ElementTree as xml

import jsonschema

MAX_SHOWN = 200
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:[!-~]+")
formats = jsonschema.FormatChecker(formats=())
formats.checks("date-time")(lambda v: not isinstance(v, str) or TIME.fullmatch(v) is not None)
formats.checks("uri")(lambda v: not isinstance(v, str) or ADDRESS.fullmatch(v) is not None)


class Inside(jsonschema.RefResolver):
    """All references of the description are to parts of it, so no search for names is needed."""

    def resolve(self, ref):
        return ref, self.resolve_fragment(self.referrer, ref[1:])


def read_answers(folder):
    for name in sorted(glob.glob(folder + "/*.answers")):
        with open(name, "rb") as f:
            while line := f.readline():
                method, rest = line.decode().split(" ", 1)
                path, length = rest.rsplit(" ", 1)
                raw = f.read(int(length))
                if len(raw) == int(length):  # else the client was killed while it wrote
                    yield method, path, raw


def split(raw):
    head, _, body = raw.partition(b"\r\n\r\n")
    headers = collections.defaultdict(list)
    for line in head.decode().split("\r\n"):
        key, _, value = line.partition(": ")
        headers[key.lower()].append(value)
    return headers, body


class Contract:
    def __init__(self, doc):
        self.doc = doc
        self.validators = {}
        self.seen = set()  # bodies that were judged
        self.met = set()  # (path, method, status, type)
        self.failures = collections.OrderedDict()
        self.judged = 0

    def fail(self, where, what):
        self.failures.setdefault((where, what[:300]), 0)
        self.failures[(where, what[:300])] += 1

    def resolve(self, part):
        while "$ref" in part:
            found = self.doc
            for name in part["$ref"][2:].split("/"):
                found = found[name]
            part = found
        return part

    def validator(self, schema):
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            # The whole document stands around the schema, so that its references find their targets.
            whole = {"components": self.doc["components"], **schema}
            self.validators[key] = jsonschema.Draft202012Validator(
                whole, resolver=Inside("", whole), format_checker=formats)
        return self.validators[key]

    def fits(self, where, schema, value):
        for e in self.validator(schema).iter_errors(value):
            self.fail(where, "/%s: %s" % ("/".join(map(str, e.absolute_path)), e.message))
            break

    def read_body(self, where, kind, schema, body):
        text = body.decode()
        plain = kind.split(";")[0].strip()
        if plain == "application/x-ndjson":
            for line in text.splitlines():
                self.fits(where, schema["x-line"], json.loads(line))
        elif plain == "text/event-stream":  # what a client got before it left: the last event may be cut
            for block in text.split("\n\n")[:-1]:
                data = [line[6:] for line in block.split("\n") if line.startswith("data: ")]
                if data:
                    self.fits(where, schema["x-line"], json.loads("\n".join(data)))
        elif plain.endswith("json"):
            self.fits(where, schema, json.loads(text))
        elif plain.endswith("xml"):
            xml.fromstring(text)
        elif plain == "text/csv":
            widths = {len(row) for row in csv.reader(io.StringIO(text))}
            if len(widths) != 1:
                self.fail(where, "rows of %s cells" % sorted(widths))
        elif plain == "text/html":
            if not text.lower().startswith("<!doctype html>") or "</html>" not in text:
                self.fail(where, "is no page")
        elif plain == "text/turtle":
            import rdflib
            if len(rdflib.Graph().parse(data=text, format="turtle")) == 0:
                self.fail(where, "is an empty graph")
        elif plain == "text/plain":
            for line in text.splitlines():
                if not line.startswith("#"):
                    float(line.rsplit(" ", 1)[1])
        else:
            self.fail(where, "no reader for %s" % plain)

    def expected(self, where, route, method, status):
        operation = self.doc["paths"].get(route, {}).get("get" if method == "HEAD" else method.lower())
        if not operation:
            self.fail(where, "is not described: add the row of api/routes.def and its schema")
            return None
        answers = operation["responses"]
        if status >= 500 or str(status) not in answers:
            if status < 400:
                self.fail(where, "status %d is not described" % status)
                return None
            return self.resolve(answers["default"])
        return self.resolve(answers[str(status)])

    def judge(self, method, path, raw):
        headers, body = split(raw)
        status = int(headers["status"][0].split()[0])
        route = headers.get("x-freshet-route", ["-"])[0]
        nowhere = route == "-"  # an address that is none
        where = "%s %s %d" % (method, route, status)
        kind = headers.get("content-type", [""])[0]
        if method == "OPTIONS" or (nowhere and status == 404) or status == 405:
            answer = {"content": {}} if status == 204 else self.resolve({"$ref": "#/components/responses/problem"})
        else:
            answer = self.expected(where, route, method, status)
        if answer is None:
            return
        self.met.add((route, method, status, kind))
        if status in (204, 304) or method == "HEAD" or "x-accel-redirect" in headers:
            if body:
                self.fail(where, "has a body of %d bytes" % len(body))
            return
        if kind not in answer.get("content", {}):
            self.fail(where, "is %s, described are %s" % (kind, ", ".join(answer.get("content", {})) or "none"))
            return
        key = (route, status, kind, hashlib.sha256(body).digest())
        if key in self.seen:
            return
        self.seen.add(key)
        self.judged += 1
        try:
            self.read_body(where + " " + kind, kind, answer["content"][kind]["schema"], body)
        except (ValueError, KeyError, IndexError, xml.ParseError) as e:
            self.fail(where, "cannot be read as %s: %s" % (kind, e))

    def never_asked(self):
        for path, methods in self.doc["paths"].items():
            for method, operation in methods.items():
                for status, answer in operation["responses"].items():
                    # Parts of bytes are nginx's work: 50-e2e/up.sh asks for them.
                    if not status.startswith("2") or status == "206":
                        continue
                    kinds = {k for r, m, s, k in self.met if (r, m, str(s)) == (path, method.upper(), status)}
                    for kind in answer.get("content", {}):
                        # Bytes under a digest have the type that their source declared.
                        if kind not in kinds and not (kind == "*/*" and kinds):
                            self.fail("%s %s %s" % (method.upper(), path, status), "no test got %s" % kind)


def main(described, folder):
    with open(described, encoding="utf-8") as f:
        c = Contract(json.load(f))
    n = 0
    for method, path, raw in read_answers(folder):
        n += 1
        c.judge(method, path, raw)
    if n == 0:
        c.fail(folder, "nothing was recorded")
    c.never_asked()
    for (where, what), times in list(c.failures.items())[:MAX_SHOWN]:
        print("not ok - %s: %s (%d)" % (where, what, times))
    print("%d answers, %d judged by their schema" % (n, c.judged))
    print("%d passed, %d failed" % (len(c.met), len(c.failures)))
    return 1 if c.failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

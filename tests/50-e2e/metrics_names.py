"""Compares /metrics with the dashboard and the alert rules. Prints what does not fit, nothing else.

metrics_names.py METRICS DASHBOARD RULES
"""
import json
import re
import sys

text, dashboard, rules = (open(p).read() for p in sys.argv[1:4])
types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
# Alerts must watch these: what they measure is somebody's trouble.
MUST_ALERT = {"freshet_heartbeat_age_seconds", "freshet_schedule_lag_seconds", "freshet_sources",
              "freshet_digest_coverage_ratio", "freshet_inbox_full", "freshet_inbox_candidates",
              "freshet_inbox_oldest_seconds", "freshet_inbox_drain_seconds", "freshet_runs_total",
              "freshet_freshness_lag_seconds", "freshet_outbox_rows", "freshet_outbox_oldest_seconds",
              "freshet_replays_total", "freshet_http_requests_total", "freshet_http_request_seconds"}


def known(name):
    if name in types and types[name] != "histogram":
        return name
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    return base if types.get(base) == "histogram" and base != name else None


def names(expressions, where):
    found = set()
    for e in expressions:
        for name in re.findall(r"\bfreshet_[a-z0-9_]+", e):
            if known(name):
                found.add(known(name))
            else:
                print("%s: %s is not in /metrics" % (where, name))
        for name, labels in re.findall(r"\b(freshet_[a-z0-9_]+)\{([^}]*)\}", e):
            have = set(re.findall(r'[{,]([a-z]+)="', "\n".join(re.findall("^" + name + r"(\{.*)$", text, re.M))))
            for label in re.findall(r"([a-z]+)=~?\"", labels):
                if label != "job" and have and label not in have:
                    print("%s: %s has no label %s" % (where, name, label))
        if e.count("(") != e.count(")") or e.count("{") != e.count("}"):
            print("%s: brackets of: %s" % (where, e))
    return found


board = json.loads(dashboard)
ids = [p["id"] for p in board["panels"]]
if len(ids) != len(set(ids)):
    print("dashboard: a panel's id is there twice")
shown = names([t["expr"] for p in board["panels"] for t in p.get("targets", [])], "dashboard")
alerted = names(re.findall(r"^\s+expr: (.*)$", rules, re.M), "rules")
for name in sorted(set(types) - shown):
    print("dashboard: nobody sees %s" % name)
for name in sorted(MUST_ALERT - set(types)):
    print("this test: %s is not in /metrics" % name)
for name in sorted(MUST_ALERT - alerted):
    print("rules: nobody is told of %s" % name)

# The rules, as far as they can be read without a YAML library; with one, as YAML.
blocks = re.split(r"^\s+- alert: ", rules, flags=re.M)[1:]
for b in blocks:
    for field in ("expr:", "labels: {severity:", "summary:", "action:"):
        if field not in b:
            print("rules: %s lacks %s" % (b.split()[0], field))
if len({b.split()[0] for b in blocks}) != len(blocks):
    print("rules: a name is there twice")
try:
    import yaml
    for rule in yaml.safe_load(rules)["groups"][0]["rules"]:
        if not isinstance(rule["expr"], str) or set(rule) - {"alert", "expr", "for", "labels", "annotations"}:
            print("rules: %s" % rule)
except ImportError:
    pass

#!/usr/bin/env python3
"""README, alert rules and dashboard name the metrics that there are.

  check_names.py REPOSITORY
"""

import pathlib
import re
import sys

NAME = re.compile(r"grpc_resilience_[a-z_]*[a-z]")
HEADER = "include/grpc_resilience/metric_names.h"
# Names of other things that begin alike, and what Prometheus adds to a histogram's.
NOT_METRICS = re.compile(r"grpc_resilience_(test|core|interceptor|alerts|dashboard|prefix)\b")
HISTOGRAM = re.compile(r"_(bucket|sum|count)$")


def main():
    root = pathlib.Path(sys.argv[1])
    header = (root / HEADER).read_text(encoding="utf-8")
    known = set(re.findall(r'"(grpc_resilience_\w+)"', header))
    problems = [] if len(known) > 10 else ["no names found in " + HEADER]

    def used_in(path, text):
        names = set()
        for name in NAME.findall(text):
            if not NOT_METRICS.match(name):
                names.add(name if name in known else HISTOGRAM.sub("", name))
        problems.extend(f"{path}: no such metric: {n}" for n in sorted(names - known))
        return names

    readme = (root / "README.md").read_text(encoding="utf-8")
    section = re.search(r"^## Metrics\n(.*?)^## ", readme, re.MULTILINE | re.DOTALL)
    # Groups of rules and files are named after the library, too.
    text = re.sub(r"grpc_resilience[\w.]*(\.ya?ml|\.json|\.h)|name: \w+", "",
                  section.group(1) if section else "")
    documented = used_in("README.md", text)
    problems.extend(f"README.md: not in the table: {n}" for n in sorted(known - documented))
    shown = set()
    for path in ("examples/alerts/grpc_resilience.rules.yml",
                 "examples/dashboard/grpc_resilience.json"):
        text = re.sub(r"name: \w+|[\w.]*\.yml", "", (root / path).read_text(encoding="utf-8"))
        shown |= used_in(path, text)
    problems.extend(f"on no dashboard: {n}" for n in sorted(known - shown))
    print(*problems, f"{len(known)} metrics, {len(problems)} problems", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

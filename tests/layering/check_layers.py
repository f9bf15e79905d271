#!/usr/bin/env python3
"""Checks who may include whom; exits with 1 and one line per violation.

  check_layers.py --root DIR [--headers PART FILES]...
  check_layers.py --self-test

PART is core, testing_util or an adapter (a folder of src/); FILES are its public
headers, separated by ';'. A folder of src/ is an adapter unless it is named below.
"""

import argparse
import pathlib
import re
import sys
import tempfile

CORE = "core"
# Aids for tests; they stand on the core alone.
CORE_ONLY = {CORE, "testing_util"}
# Programs put adapters together.
PROGRAMS = {"tools"}
# Adapters of something else than gRPC.
WITHOUT_GRPC = {"config", "planner", "prometheus"}
# The only folder that knows what gRPC calls experimental or keeps private.
EXPERIMENTAL_OWNER = "interceptor"

CORE_SYSTEM_HEADER = "grpcpp/support/status_code_enum.h"
# Standard headers for what the core doesn't do: threads and I/O.
CORE_FORBIDDEN_STANDARD = {
    "filesystem", "fstream", "future", "iostream", "mutex", "condition_variable",
    "shared_mutex", "thread"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)


def without_comments(text):
    return COMMENT.sub(
        lambda m: m.group(1) or "\n" * m.group(0).count("\n"), text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


class Checker:
    def __init__(self, root, headers):
        self.root = root
        # Path under include/ -> the part that owns it.
        self.owner = {}
        for part, files in headers:
            for file in files:
                relative = pathlib.Path(file).relative_to(root / "include")
                self.owner[relative.as_posix()] = part
        self.violations = []

    def run(self):
        for base in ("src", "include"):
            for path in sorted((self.root / base).rglob("*")):
                if path.suffix in (".h", ".cc"):
                    self.check_file(path, self.part_of(path))
        return self.violations

    def part_of(self, path):
        relative = path.relative_to(self.root)
        if relative.parts[0] == "src":
            return relative.parts[1]
        name = pathlib.Path(*relative.parts[1:]).as_posix()
        if name not in self.owner:
            self.report(path, 1, "public header that belongs to no library")
        return self.owner.get(name, CORE)

    def report(self, path, line, message):
        self.violations.append(
            f"{path.relative_to(self.root)}:{line}: {message}")

    def check_file(self, path, part):
        text = without_comments(path.read_text(encoding="utf-8"))
        if path.suffix == ".h":
            self.check_header(path, text)
        if part != EXPERIMENTAL_OWNER:
            for found in re.finditer(r"\bgrpc::experimental\b", text):
                self.report(path, line_of(text, found.start()),
                            f"grpc::experimental outside {EXPERIMENTAL_OWNER}")
        for found in INCLUDE.finditer(text):
            line = line_of(text, found.start())
            problem = self.include_problem(part, found.group(1), found.group(2))
            if problem:
                self.report(path, line, f"{part} includes {found.group(2)}: {problem}")

    def check_header(self, path, text):
        if "#pragma once" not in text:
            self.report(path, 1, "no #pragma once")
        for found in re.finditer(r"\busing\s+namespace\b", text):
            self.report(path, line_of(text, found.start()), "using namespace in a header")

    def include_problem(self, part, bracket, name):
        if part != EXPERIMENTAL_OWNER and name.startswith("grpcpp/impl/"):
            return f"grpcpp/impl outside {EXPERIMENTAL_OWNER}"
        if name.startswith("absl/"):
            return None
        other = self.part_included(name) if bracket == '"' else None
        if other is not None:
            return self.part_problem(part, other)
        if name == CORE_SYSTEM_HEADER:
            return None
        if part in WITHOUT_GRPC and name.startswith(("grpc/", "grpcpp/")):
            return f"{part} needs no gRPC"
        if part not in CORE_ONLY:
            return None
        is_standard = bracket == "<" and re.fullmatch(r"[a-z0-9_]+", name)
        if not is_standard:
            return "the core takes std, Abseil and gRPC's status code only"
        if part == CORE and name in CORE_FORBIDDEN_STANDARD:
            return "the core starts no thread, does no I/O and locks with absl::Mutex"
        return None

    def part_included(self, name):
        """The part of ours that `name` belongs to; None when it isn't ours."""
        if name in self.owner:
            return self.owner[name]
        folder = name.split("/", 1)[0]
        return folder if (self.root / "src" / folder).is_dir() else None

    def part_problem(self, part, other):
        if other in (part, CORE):
            return None
        if part in CORE_ONLY:
            return f"{part} stands on the core alone"
        if part in PROGRAMS:
            return None
        return "adapters never include one another"


def self_test():
    """Every planted violation is found, and nothing in a clean tree."""
    clean = {
        "include/x/core.h": "#pragma once\n#include <grpcpp/support/status_code_enum.h>\n",
        "include/x/channel.h": "#pragma once\n#include <grpcpp/channel.h>\n"
                               "using F = grpc::experimental::Factory;\n",
        "src/core/a.cc": '// grpc::experimental, using namespace x\n'
                         '#include "core/b.h"\n#include <map>\n'
                         '#include "absl/time/time.h"\n#include "x/core.h"\n',
        "src/core/b.h": "#pragma once\n",
        "src/interceptor/a.cc": '#include <grpcpp/impl/call.h>\n#include "core/b.h"\n'
                                '#include "x/channel.h"\n',
        "src/metrics/m.h": "#pragma once\n#include <grpcpp/grpcpp.h>\n",
        "src/config/c.cc": '#include <google/protobuf/struct.pb.h>\n#include "core/b.h"\n'
                           '#include <grpcpp/support/status_code_enum.h>\n',
        "src/tools/t.cc": '#include "metrics/m.h"\n#include "interceptor/a.h"\n',
    }
    planted = {
        "core includes gRPC": ("src/core/a.cc", "#include <grpcpp/grpcpp.h>\n"),
        "core includes a system header": ("src/core/a.cc", "#include <unistd.h>\n"),
        "core includes protobuf": ("src/core/a.cc", '#include "google/protobuf/any.h"\n'),
        "core starts threads": ("src/core/a.cc", "#include <thread>\n"),
        "core includes an adapter": ("src/core/a.cc", '#include "interceptor/a.h"\n'),
        "core includes an adapter's header": ("src/core/a.cc", '#include "x/channel.h"\n'),
        "core header includes gRPC": ("include/x/core.h", "#include <grpcpp/channel.h>\n"),
        "adapter includes an adapter": ("src/metrics/m.h", '#include "interceptor/a.h"\n'),
        "adapter includes an adapter's header": ("src/metrics/m.h", '#include "x/channel.h"\n'),
        "config includes gRPC": ("src/config/c.cc", "#include <grpcpp/channel.h>\n"),
        "config includes an adapter": ("src/config/c.cc", '#include "interceptor/a.h"\n'),
        "core includes config": ("src/core/a.cc", '#include "config/c.h"\n'),
        "experimental in an adapter": ("src/metrics/m.h", "grpc::experimental::Y y;\n"),
        "impl in an adapter": ("src/metrics/m.h", "#include <grpcpp/impl/call.h>\n"),
        "experimental in a core header": ("include/x/core.h", "grpc::experimental::Y y;\n"),
        "using namespace": ("src/core/b.h", "using namespace std;\n"),
        "header of nobody": ("include/x/new.h", "#pragma once\n"),
        "no pragma once": ("src/core/new.h", "int i;\n"),
    }

    def violations(extra=None):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in clean.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            if extra:
                with open(root / extra[0], "a", encoding="utf-8") as file:
                    file.write(extra[1])
            return Checker(root, [
                (CORE, [root / "include/x/core.h"]),
                (EXPERIMENTAL_OWNER, [root / "include/x/channel.h"])]).run()

    failures = [f"found in a clean tree: {v}" for v in violations()]
    for name, extra in planted.items():
        found = violations(extra)
        if len(found) != 1:
            failures.append(f"{name}: one violation planted, found {found}")
    print(*failures, f"{len(planted)} planted, {len(failures)} failures", sep="\n")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--headers", nargs=2, action="append", default=[])
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    headers = [(part, [f for f in files.split(";") if f])
               for part, files in arguments.headers]
    violations = Checker(arguments.root.resolve(), headers).run()
    print(*violations, f"{len(violations)} violations", sep="\n")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

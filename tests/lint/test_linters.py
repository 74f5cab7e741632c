#!/usr/bin/env python3
"""Tests the linters: every file under fixtures/LINTER/bad must be found for the reason it names, none under good.

The first line of a bad fixture gives the expected finding: "EXPECT: text".
"""
import os
import subprocess
import sys
import unittest

import check_layers
import doc_links
import floors
import hidden_names
import proto_comments
import tidy

HERE = os.path.dirname(os.path.abspath(__file__))
LINTERS = {"check_layers": check_layers, "floors": floors, "tidy": tidy,
           "proto_comments": proto_comments, "hidden_names": hidden_names, "doc_links": doc_links}


def fixture_files(folder):
    for at, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            yield os.path.relpath(os.path.join(at, name), folder)


class LinterTest(unittest.TestCase):
    def test_finds_every_bad_fixture_for_the_reason_it_names(self):
        for name, linter in LINTERS.items():
            root = os.path.join(HERE, "fixtures", name, "bad")
            findings = linter.check(root)
            paths = list(fixture_files(root))
            self.assertTrue(paths, name)
            for path in paths:
                with self.subTest(linter=name, fixture=path):
                    with open(os.path.join(root, path), encoding="utf-8") as file:
                        expected = file.readline().split("EXPECT: ")[1].strip()
                    mine = [f for f in findings if f.startswith(path + ":")]
                    self.assertTrue([f for f in mine if expected in f], f"expected {expected!r}, found {mine}")

    def test_finds_nothing_in_good_fixtures(self):
        for name, linter in LINTERS.items():
            with self.subTest(linter=name):
                self.assertEqual(linter.check(os.path.join(HERE, "fixtures", name, "good")), [])

    def test_exit_status_says_whether_there_are_findings(self):
        for name in LINTERS:
            for kind, status in (("bad", 1), ("good", 0)):
                with self.subTest(linter=name, kind=kind):
                    done = subprocess.run([sys.executable, os.path.join(HERE, name + ".py"),
                                           os.path.join(HERE, "fixtures", name, kind)],
                                          stdout=subprocess.PIPE, check=False)
                    self.assertEqual(done.returncode, status)


class FunctionLengthTest(unittest.TestCase):
    def lengths(self, text):
        return [length for _, length in tidy.cpp_functions(text)]

    def test_counts_from_the_signature_to_the_closing_brace(self):
        self.assertEqual(self.lengths("int F(int a,\n      int b) {\n  return a;\n}\n"), [4])

    def test_finds_methods_but_not_classes_and_tables(self):
        self.assertEqual(self.lengths("class A {\n  int f() { return 1; }\n};\nint t[] = {\n  1,\n};\n"), [1])

    def test_lambdas_belong_to_their_function(self):
        self.assertEqual(self.lengths("void F() {\n  auto g = [](int x) {\n    return x;\n  };\n}\n"), [5])


if __name__ == "__main__":
    unittest.main()

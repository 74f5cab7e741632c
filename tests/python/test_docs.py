"""Runs every block of docs/PYTHON.md and docs/TRAINING_LOOP.md, in order, in a folder like the repository."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import server

ADDRESS = "127.0.0.1:50051"


def blocks():
    text = ""
    for page in ("PYTHON.md", "TRAINING_LOOP.md"):
        with open(os.path.join(server.ROOT, "docs", page), encoding="utf-8") as file:
            text += file.read()
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.S | re.M)


class DocsTest(unittest.TestCase):
    def test_every_block_runs(self):
        running = server.Server()
        self.addCleanup(running.stop)
        folder = tempfile.TemporaryDirectory(prefix="evenkeel-docs-")
        self.addCleanup(folder.cleanup)
        for name in ("client", "deploy", "proto", "server", "LICENSE"):
            os.symlink(os.path.join(server.ROOT, name), os.path.join(folder.name, name))
        # Under Python 3.11, PyTorch 1.13 has no "redirect nothing" (its Std.from_str gives None). So this redirects,
        # and shows.
        shim = os.path.join(folder.name, "torchrun")
        with open(shim, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {sys.executable} -m torch.distributed.run --redirects 1 --tee 1 "$@"\n')
        os.chmod(shim, 0o755)
        environment = {**os.environ, "PATH": os.pathsep.join([folder.name, os.path.dirname(sys.executable),
                                                              server.PROGRAMS, os.environ["PATH"]])}
        program, ran = [], {"python": 0, "sh": 0}

        def run(*command):
            done = subprocess.run(command, cwd=folder.name, env=environment, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=400, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            return done.stdout
        said = ""
        for language, text in blocks():
            self.assertIn(language, ran)
            ran[language] += 1
            text = text.replace(ADDRESS, running.address)
            named = re.match(r"# (\w+\.py)\n", text)
            if named:
                with open(os.path.join(folder.name, named[1]), "w", encoding="utf-8") as file:
                    file.write(text)
            elif language == "sh":
                said += run("bash", "-euo", "pipefail", "-c", text)
            else:  # the blocks build on each other
                program.append(text)
        said += run(sys.executable, "-c", "\n".join(program))
        for wanted in ("job.model.name -> unknown model", "steps 0 to 5 of", "steps 5 to 10 of", "4 ranks x 1 packs"):
            self.assertIn(wanted, said)
        self.assertGreater(min(ran.values()), 2)


if __name__ == "__main__":
    unittest.main()

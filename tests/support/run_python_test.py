"""Runs a test program with a temporary directory of its own. A program that leaves something there fails.

run_python_test.py PROGRAM [ARGUMENT...]
"""

import os
import subprocess
import sys
import tempfile


def main():
    with tempfile.TemporaryDirectory(prefix="t-") as directory:
        path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), os.path.dirname(os.path.abspath(__file__))]))
        environment = {**os.environ, "TMPDIR": directory, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
        code = subprocess.run([sys.executable, "-B", *sys.argv[1:]], env=environment).returncode
        for name in sorted(os.listdir(directory)):
            print(f'The tests left "{name}" in their temporary directory.', file=sys.stderr)
            code = code or 1
    return code


sys.exit(main())

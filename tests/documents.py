"""Runs what the documents show: every block fenced as ```console test, with its output compared.

A block is one shell session in an empty folder with `kilter` on the path. Lines that start with `$ ` are typed; the
lines after one are what it must print. `…` stands for anything: within a line for any characters, on a line of its own
for any lines. What a block left running is ended with it.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

FENCE = re.compile(r"^```console test\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "--end-of-output--"


def blocks(text):
    for found in FENCE.finditer(text):
        steps = []
        for line in found[1].splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            elif steps:
                steps[-1][1].append(line)
            else:
                raise ValueError("a console block starts with a command")
        yield text.count("\n", 0, found.start()) + 1, steps


def pattern(lines):
    parts = []
    for line in lines:
        if line.strip() == "…":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append("[^\n]*?".join(map(re.escape, line.rstrip().split("…"))) + r"[ ]*\n")
    return re.compile("".join(parts))


def run(steps, binary):
    """Yields (command, wanted lines, printed text) for each step of one session."""
    script = "".join(f"{command}\nprintf '\\n%s\\n' '{MARK}'\n" for command, _ in steps)
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "PATH": f"{Path(binary).resolve().parent}:{os.environ['PATH']}",
            "HOME": folder,
            "XDG_CONFIG_HOME": f"{folder}/.config",
            "XDG_STATE_HOME": f"{folder}/.state",
            "NO_COLOR": "1",
        }
        session = subprocess.Popen(
            ["bash", "-c", script],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        printed = []
        try:
            for _ in steps:
                lines = []
                for line in session.stdout:
                    if line.rstrip("\n") == MARK:
                        break
                    lines.append(line)
                printed.append("".join(lines))
        finally:
            try:
                os.killpg(session.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            session.wait()
    return [(command, wanted, text) for (command, wanted), text in zip(steps, printed, strict=True)]


def matches(wanted, text):
    text = text.strip("\n")
    return pattern(wanted).fullmatch(f"{text}\n" if text else "") is not None


def main(binary, documents):
    shown, wrong = 0, 0
    for document in documents:
        for line, steps in blocks(Path(document).read_text(encoding="utf-8")):
            for command, wanted, text in run(steps, binary):
                shown += 1
                if not matches(wanted, text):
                    wrong += 1
                    print(f"{document}:{line}: `{command}` printed\n{text}\nand the document shows")
                    print("\n".join(wanted), end="\n\n")
    print(f"documents: {shown} commands shown, {wrong} of them print something else")
    return shown > 0 and wrong == 0


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1], sys.argv[2:]) else 1)

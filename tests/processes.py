"""Starts the programs that a test needs and ends exactly those: each says `{"url": …}` on a line once it listens."""

import json
import os
import subprocess
import threading
import time

KILTER = os.environ["KILTER_BIN"]


class Process:
    """A started program: `url` as it said, `log` with every line of its standard error."""

    def __init__(self, command, timeout=60, **environment):
        self.command = command
        self.log = []
        self.child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        threading.Thread(target=self._drain, daemon=True).start()
        self.ready = self._first_line(timeout)
        self.url = self.ready["url"].rstrip("/")

    def _drain(self):
        for line in self.child.stderr:
            self.log.append(line.rstrip("\n"))

    def _first_line(self, timeout):
        found = {}

        def read():
            for line in self.child.stdout:
                if not found and line.startswith("{") and "url" in line:
                    found.update(json.loads(line))

        threading.Thread(target=read, daemon=True).start()
        until = time.monotonic() + timeout
        while not found:
            if self.child.poll() is not None or time.monotonic() > until:
                self.end()
                tail = "\n".join(self.log[-20:])
                raise RuntimeError(f"{' '.join(self.command)} did not start:\n{tail}")
            time.sleep(0.02)
        return found

    def end(self):
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(10)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def kilter(*words, state, **options):
    """`kilter …` as a process that listens, with a state folder of its own."""
    return Process([KILTER, "--state", str(state), *words], **options)


def kilter_json(*words, state, timeout=900):
    """Runs `kilter …` to its end; what it printed, read as JSON."""
    done = subprocess.run(
        [KILTER, "--state", str(state), *words], capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, f"kilter {' '.join(words)} ended with {done.returncode}:\n{done.stderr}"
    return json.loads(done.stdout)

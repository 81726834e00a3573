"""Serves a GGUF file with the llama.cpp server of the xllamacpp package: `llama_server.py GGUF ALIAS [TEMPLATE]`.

Prints `{"url": …}` once it answers and ends when its standard input is closed.
"""

import json
import os
import socket
import sys
import time
import urllib.request

import xllamacpp


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main(weights, alias, template=None):
    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {alias} if isinstance(params.model_alias, set) else [alias]
    params.hostnames = ["127.0.0.1"]
    params.port = free_port()
    params.n_ctx = 4096
    params.n_parallel = 1
    params.use_jinja = True
    params.ui = False
    params.offline = True
    threads = int(os.environ.get("THREADS", "1"))
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    if template:
        with open(template, encoding="utf-8") as file:
            params.chat_template = file.read()
    server = xllamacpp.Server(params)
    url = f"http://127.0.0.1:{params.port}"
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=1) as answer:
                if answer.status == 200:
                    break
        except OSError:
            time.sleep(0.1)
    else:
        sys.exit("the llama.cpp server does not answer")
    print(json.dumps({"url": f"{url}/v1"}), flush=True)
    sys.stdin.read()
    del server
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

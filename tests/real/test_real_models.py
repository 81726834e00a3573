"""Real weights behind real HTTP: what `kilter fit` says of them and what `kilter serve` makes of their text.

Thresholds are asserted, never texts. The router's text is real and its HTTP envelope is ours (needle_server.py); the
chat model's server is llama.cpp itself.
"""

import http.client
import json
import re
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import weights
from intervals import said
from processes import Process, kilter, kilter_json
from prompts import PROMPTS, TOOLS, right

HERE = Path(__file__).parent
DEPTH = "20"


@pytest.mark.parametrize("path", weights.SHA256, ids=lambda path: path.name)
def test_the_weights_are_the_ones_that_were_measured(path):
    assert weights.digest(path) == weights.SHA256[path]


def llama(*template):
    return Process([sys.executable, str(HERE / "llama_server.py"), str(weights.CHAT), "chat", *template])


@pytest.fixture(scope="module")
def router():
    with Process([sys.executable, str(HERE / "needle_server.py"), str(weights.ROUTER), DEPTH]) as process:
        yield process


def fit(url, tmp_path):
    card = kilter_json("fit", url, "--json", "--timeout", "1500", state=tmp_path, timeout=1600)
    print(f"\n{card['effort']['requests']} requests, {card['effort']['elapsed_ms'] / 1000:.0f} s")
    for line in ("reasoning", "tool_calls", "budget", "window"):
        print(f"{line:<12}{card[line]['evidence']}")
    return card


def test_fit_sees_that_the_models_own_template_drops_the_tools(tmp_path):
    with llama() as server:
        card = fit(server.url, tmp_path)
    assert card["tool_calls"]["channel"] == "template_drops_tools"
    assert card["tool_calls"]["native"] == 0 and card["tool_calls"]["seen"] == 0


def test_fit_sees_that_no_call_is_emitted_under_a_tool_template(tmp_path):
    with llama(str(HERE / "tools.jinja")) as server:
        card = fit(server.url, tmp_path)
    assert card["tool_calls"]["channel"] == "none_emitted"
    assert card["tool_calls"]["of"] > 0


def test_fit_sees_calls_in_content_and_inline_thinking(router, tmp_path):
    card = fit(router.url, tmp_path)
    assert card["tool_calls"]["channel"] == "in_content"
    assert card["tool_calls"]["native"] == 0
    assert card["tool_calls"]["dialect"]
    assert card["reasoning"]["channel"] == "inline_think"


class Arm:
    """The twenty prompts through one gateway: every answer as bytes, and the calls that a client sees."""

    def __init__(self, adapt, upstream, state):
        self.adapt, self.state = adapt, state
        with kilter(
            "serve", "--backend", upstream, "--port", "0", "--json", "--adapt", adapt, state=state
        ) as gateway:
            self.whole = [post(gateway.url, prompt, stream=False) for prompt, _, _ in PROMPTS]
            self.streams = [post(gateway.url, prompt, stream=True) for prompt, _, _ in PROMPTS]

    def native(self):
        return sum(bool(calls) for calls in map(calls_of_body, self.whole))

    def exactly_right(self, calls_of, answers):
        hits = 0
        for answer, (_, name, wanted) in zip(answers, PROMPTS, strict=True):
            calls = calls_of(answer)
            hits += len(calls) == 1 and right(calls[0][0], calls[0][1], name, wanted)
        return hits

    def events(self):
        """Trace events that this arm's gateway wrote."""
        found = []
        for file in sorted(Path(self.state).rglob("*.jsonl")):
            if "traces" in file.parts:
                found += [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        return found


def post(url, prompt, stream):
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=900)
    body = {
        "model": "router",
        "messages": [{"role": "user", "content": prompt}],
        "tools": TOOLS,
        "temperature": 0,
        "seed": 42,
        "max_tokens": 160,
        "stream": stream,
    }
    connection.request(
        "POST",
        f"{address.path}/chat/completions",
        json.dumps(body),
        {"Content-Type": "application/json", "x-kilter-session": f"arm-{stream}"},
    )
    answer = connection.getresponse()
    raw = answer.read()
    assert answer.status == 200, raw
    connection.close()
    return raw


def read_arguments(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def calls_of_body(raw):
    calls = json.loads(raw)["choices"][0]["message"].get("tool_calls") or []
    return [(one["function"]["name"], read_arguments(one["function"]["arguments"])) for one in calls]


def calls_of_stream(raw):
    calls = {}
    for line in raw.decode().split("\n"):
        if not line.startswith("data: {"):
            continue
        for choice in json.loads(line[len("data: ") :])["choices"]:
            for part in choice["delta"].get("tool_calls") or []:
                name, text = calls.get(part["index"], ("", ""))
                function = part.get("function", {})
                calls[part["index"]] = (name or function.get("name"), text + (function.get("arguments") or ""))
    return [(name, read_arguments(text)) for name, text in calls.values()]


def calls_in_text(raw):
    """What the model wrote, read by nothing of kilter's: the most that any reader can recover."""
    content = json.loads(raw)["choices"][0]["message"]["content"] or ""
    found = re.search(r"<tool_call>(.*?)</tool_call>", content, re.DOTALL)
    written = read_arguments(found[1]) if found else None
    written = written if isinstance(written, list) else [written] if written else []
    return [(one.get("name"), one.get("arguments")) for one in written]


def test_through_the_gateway_the_routers_calls_come_back_native(router, tmp_path):
    off, observe, on = (Arm(adapt, router.url, tmp_path / adapt) for adapt in ("off", "observe", "on"))
    with urllib.request.urlopen(router.url.removesuffix("/v1") + "/generations", timeout=10) as answer:
        generations = json.load(answer)["generations"]

    n = len(PROMPTS)
    written = off.exactly_right(calls_in_text, off.whole)
    whole = on.exactly_right(calls_of_body, on.whole)
    streamed = on.exactly_right(calls_of_stream, on.streams)
    would = sum(one["event"] == "recovered_tool_call" for one in observe.events())
    print(f"\n{n} prompts, 6 tools, depth {DEPTH}, temperature 0; text real, HTTP envelope ours")
    print(f"right in the raw text, read by a regular expression   {said(written, n)}")
    print(f"adapt off      native calls                           {said(off.native(), n)}")
    print(f"adapt observe  native calls                           {said(observe.native(), n)}")
    print(f"adapt observe  recoveries that it would have made     {would} in {2 * n} turns")
    print(f"adapt on       exactly right, whole                   {said(whole, n)}")
    print(f"adapt on       exactly right, streamed                {said(streamed, n)}")

    assert off.native() == 0
    assert sum(bool(calls_of_stream(raw)) for raw in off.streams) == 0
    assert observe.whole == off.whole and observe.streams == off.streams, "observe answers byte for byte as off"
    assert would >= 15
    assert whole >= 15 and streamed >= 15
    assert whole >= written and streamed >= written, "kilter loses no call that the text holds"
    assert generations >= n, "the arms were answered by the model"

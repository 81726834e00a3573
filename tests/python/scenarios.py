"""Eighteen scripted models, each of which misbehaves in one way that public gateways pass on: name → script."""

CALLS = '[calls]\nchannel = "content"\ndialect = "{dialect}"\npick = "get_tide"\n'
THOUGHT = "The user wants the tide; I know it by heart."
ANSWER = "High water is at noon."
UMLAUTS = "naïve Grüße — 漢字とかな, Привет, 🎉🌊"

SCRIPTS = {
    "s01-tags": CALLS.format(dialect="hermes-json"),
    "s02-xml": CALLS.format(dialect="qwen-xml"),
    "s03-fence": CALLS.format(dialect="fenced-json"),
    "s04-inline-think": f"""
[reasoning]
channel = "inline"
text = "{THOUGHT}"
[reply]
text = "{ANSWER}"
""",
    "s05-lone-closer": f"""
[reasoning]
channel = "lone_closer"
text = "{THOUGHT}"
[reply]
text = "{ANSWER}"
""",
    "s06-other-field": f"""
[reasoning]
channel = "field"
field = "reasoning"
text = "{THOUGHT}"
[reply]
text = "{ANSWER}"
""",
    "s07-overflow": f"""
[reasoning]
channel = "field"
tokens = 40
overflow_below = 400
[reply]
text = "{ANSWER}"
[usage]
report = "always"
""",
    "s08-tools-x-reasoning": """
[reasoning]
channel = "field"
[calls]
pick = "get_tide"
[[refuse]]
kind = "tools_with_reasoning"
""",
    "s09-no-index": """
[calls]
pick = "get_tide"
count = 2
[stream]
index = "missing"
""",
    "s10-finish-stop": """
[calls]
pick = "get_tide"
[reply]
finish = "stop"
""",
    "s11-cut-arguments": """
[calls]
pick = "get_tide"
cut = 9
[reply]
finish = "tool_calls"
""",
    "s12-utf8": f"""
[reply]
text = "{UMLAUTS}"
[stream]
write_bytes = 1
""",
    "s13-sse-habits": """
[reply]
text = "alpha beta gamma"
[stream]
line_end = "crlf"
id_lines = true
retry_line = true
comment_every = 1
multi_line = true
""",
    "s14-history": f"""
[reply]
text = "{ANSWER}"
""",
    "s14-history-refused": f"""
[reply]
text = "{ANSWER}"
[[refuse]]
kind = "history_reasoning"
""",
    "s15-unknown-fields": f"""
[reply]
text = "{ANSWER}"
""",
    "s16-error": """
[reply]
text = "this text is long enough to be cut by an error in the middle of it"
[[faults]]
kind = "error_event"
after = 3
message = "the engine fell over"
type = "server_error"
when = { stream = true }
[[faults]]
kind = "status"
status = 500
message = "the engine fell over"
type = "server_error"
when = { stream = false }
""",
    # A whole body waits before its headers; a stream never ends.
    "s17-client-gone": """
[[rules]]
when = { stream = false }
stream = { headers_ms = 20000 }
[[faults]]
kind = "endless"
gap_ms = 5
when = { stream = true }
""",
    "s18-undeclared": """
[calls]
channel = "content"
dialect = "hermes-json"
policy = "always"
literal = [{ name = "launch_rocket", arguments = { target = "moon" } }]
""",
}

"""Six tools and twenty prompts, each of which needs exactly one call with exactly these arguments.

The wordings are plain enough for the small router to get most of them right: what is measured is how much of what a
model writes arrives as calls, not how good the model is.
"""


def _tool(name, about, **properties):
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": about,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            },
        },
    }


def _text(about):
    return {"type": "string", "description": about}


def _whole(about):
    return {"type": "integer", "description": about}


TOOLS = [
    _tool("get_weather", "Get the current weather for a city.", city=_text("city name")),
    _tool("read_file", "Read a text file and return its contents.", path=_text("path of the file")),
    _tool("list_dir", "List the files in a directory.", path=_text("path of the directory")),
    _tool("run_command", "Run a shell command and return its output.", command=_text("the command line")),
    _tool(
        "search_text",
        "Search for a text in all files under a path.",
        query=_text("text to look for"),
        path=_text("directory to search"),
    ),
    _tool("add_numbers", "Add two integers.", a=_whole("first number"), b=_whole("second number")),
]

PROMPTS = [
    ("What is the weather in Nairobi today?", "get_weather", {"city": "Nairobi"}),
    ("Tell me the current weather in Lisbon.", "get_weather", {"city": "Lisbon"}),
    ("Is it raining in Oslo?", "get_weather", {"city": "Oslo"}),
    ("How is the weather in Montreal right now?", "get_weather", {"city": "Montreal"}),
    ("Read the file src/lib.rs", "read_file", {"path": "src/lib.rs"}),
    ("Show me what is inside NOTES.md", "read_file", {"path": "NOTES.md"}),
    ("Read the contents of docs/guide.txt", "read_file", {"path": "docs/guide.txt"}),
    ("Please print the contents of /etc/hosts", "read_file", {"path": "/etc/hosts"}),
    ("Show me the directory listing of docs/", "list_dir", {"path": "docs"}),
    ("What files are in /var/log?", "list_dir", {"path": "/var/log"}),
    ("List the directory benches", "list_dir", {"path": "benches"}),
    ("Run the command: cargo build", "run_command", {"command": "cargo build"}),
    ("Execute the command git log", "run_command", {"command": "git log"}),
    ("Run the command uname -a", "run_command", {"command": "uname -a"}),
    ("Run df -h", "run_command", {"command": "df -h"}),
    ("Search for FIXME in the src directory.", "search_text", {"query": "FIXME", "path": "src"}),
    ("Find the text 'panic!' under crates/app", "search_text", {"query": "panic!", "path": "crates/app"}),
    ("Search for TIMEOUT in the logs directory.", "search_text", {"query": "TIMEOUT", "path": "logs"}),
    ("Add 31 and 11.", "add_numbers", {"a": 31, "b": 11}),
    ("Compute 250 plus 125 with the tool.", "add_numbers", {"a": 250, "b": 125}),
]


def right(name, arguments, wanted_name, wanted):
    """Exactly the expected call; the case of text and a slash at its end are no mistake."""

    def plain(value):
        return value.rstrip("/").lower() if isinstance(value, str) else value

    return (
        name == wanted_name
        and isinstance(arguments, dict)
        and {key: plain(value) for key, value in arguments.items()}
        == {key: plain(value) for key, value in wanted.items()}
    )

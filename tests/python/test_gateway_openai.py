"""Eighteen misbehaviours through `kilter serve`, as the official Python client sees them, streamed and whole."""

import json
import time
import uuid

import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState
from processes import kilter
from scenarios import ANSWER, SCRIPTS, THOUGHT, UMLAUTS

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_tide",
            "description": "Height of the tide at a port.",
            "parameters": {
                "type": "object",
                "properties": {"port": {"type": "string", "description": "name of the port"}},
                "required": ["port"],
            },
        },
    }
]
QUESTION = "How high is the tide at the port of Brest? Use get_tide."
TALK = "Greet me."
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


class World:
    """The mock with every scenario as a slot, and a gateway in front of it."""

    def __init__(self, mock, gateway, log):
        self.mock, self.gateway, self.log = mock, gateway, log

    def requests(self, session):
        """What the mock received for this session, in order."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return [one for one in map(json.loads, lines) if one["session"] == session]


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    files = []
    for name, text in SCRIPTS.items():
        file = folder / f"{name}.toml"
        file.write_text(f'name = "{name}"\n{text}', encoding="utf-8")
        files.append(str(file))
    log = folder / "mock.jsonl"
    log.touch()
    state = folder / "state"
    with kilter("mock", *files, "--port", "0", "--json", "--log", str(log), state=state) as mock:
        with kilter(
            "serve", "--backend", mock.url, "--port", "0", "--json", "--adapt", "on", state=state
        ) as gateway:
            yield World(mock, gateway, log)


class Session:
    """One session of one slot, talked to with the official client."""

    def __init__(self, world, slot):
        self.world, self.slot, self.mark = world, slot, uuid.uuid4().hex
        self.client = openai.OpenAI(
            base_url=world.gateway.url.removesuffix("/v1") + "/v1",
            api_key="unused",
            max_retries=0,
            timeout=30,
        )

    def say(self, stream, text=QUESTION, **options):
        options.setdefault("messages", [{"role": "user", "content": text}])
        options.setdefault("tools", TOOLS)
        # The field that keeps a conversation together, for the gateway and for the mock behind it.
        options["prompt_cache_key"] = self.mark
        if not stream:
            return Turn(self.client.chat.completions.create(model=self.slot, **options))
        state, ids, roles = ChatCompletionStreamState(), set(), 0
        for chunk in self.client.chat.completions.create(model=self.slot, stream=True, **options):
            state.handle_chunk(chunk)
            ids.add(chunk.id)
            roles += sum(1 for choice in chunk.choices if choice.delta.role)
        turn = Turn(state.current_completion_snapshot)
        turn.ids, turn.roles = ids, roles
        return turn

    def requests(self):
        return self.world.requests(self.mark)


class Turn:
    """One answer, whichever way it came."""

    def __init__(self, completion):
        choice = completion.choices[0]
        message = choice.message
        self.content = message.content or ""
        self.reasoning = getattr(message, "reasoning_content", None) or ""
        self.calls = [(one.function.name, one.function.arguments) for one in message.tool_calls or []]
        self.call_ids = [one.id for one in message.tool_calls or []]
        self.finish = choice.finish_reason
        self.usage = completion.usage
        self.extra = message.model_extra or {}
        self.ids, self.roles = {completion.id}, 1


def one_native_call(turn):
    assert [name for name, _ in turn.calls] == ["get_tide"], turn.content
    arguments = json.loads(turn.calls[0][1])
    assert isinstance(arguments["port"], str) and arguments["port"]
    assert turn.call_ids[0]
    assert turn.finish == "tool_calls"


@both
@pytest.mark.parametrize("slot", ["s01-tags", "s02-xml", "s03-fence"])
def test_a_call_in_content_comes_back_native(world, slot, stream):
    turn = Session(world, slot).say(stream)
    one_native_call(turn)
    assert turn.content.strip() == "", "the call is not said twice"


@both
def test_s04_inline_thinking_is_split_once_learnt(world, stream):
    session = Session(world, "s04-inline-think")
    turns = [session.say(stream, TALK) for _ in range(4)]
    for turn in turns:
        assert THOUGHT in turn.content + turn.reasoning and ANSWER in turn.content, "nothing is lost"
    assert turns[-1].content.strip() == ANSWER
    assert turns[-1].reasoning.strip() == THOUGHT


@both
def test_s05_a_lone_closer_is_split_on_the_first_turn(world, stream):
    session = Session(world, "s05-lone-closer")
    for _ in range(3):
        turn = session.say(stream, TALK)
        assert turn.content.strip() == ANSWER
        assert turn.reasoning.strip() == THOUGHT


@both
def test_s06_reasoning_leaves_under_one_name(world, stream):
    turn = Session(world, "s06-other-field").say(stream, TALK)
    assert (turn.reasoning, turn.content) == (THOUGHT, ANSWER)
    assert "reasoning" not in turn.extra


@both
def test_s07_an_answer_that_drowned_in_reasoning_is_continued_once(world, stream):
    session = Session(world, "s07-overflow")
    asked = {"stream_options": {"include_usage": True}} if stream else {}
    turn = session.say(stream, TALK, max_tokens=120, **asked)
    assert turn.content == ANSWER
    assert turn.finish == "stop"
    assert len(turn.ids) == 1 and turn.roles == 1, "a continued turn is one turn"
    seen = session.requests()
    assert len(seen) == 2, "one continue, no more"
    assert turn.usage.completion_tokens > 120, "usage is the sum of both requests"


@both
def test_s08_tools_against_reasoning_is_compensated_and_learnt(world, stream):
    session = Session(world, "s08-tools-x-reasoning")
    one_native_call(session.say(stream))
    tried = len(session.requests())
    assert tried == 2, "the refusal, then the compensated request"
    one_native_call(session.say(stream))
    assert len(session.requests()) == tried + 1, "what was learnt is not tried again"


@both
def test_s09_parallel_calls_without_index_stay_two(world, stream):
    turn = Session(world, "s09-no-index").say(stream, "The tide at Brest and at Dover? Use get_tide.")
    assert [name for name, _ in turn.calls] == ["get_tide", "get_tide"]
    for _, arguments in turn.calls:
        assert json.loads(arguments)["port"]
    assert len(set(turn.call_ids)) == 2


@both
def test_s10_the_terminal_reason_says_that_there_are_calls(world, stream):
    one_native_call(Session(world, "s10-finish-stop").say(stream))


@both
def test_s11_cut_arguments_are_not_called_complete(world, stream):
    turn = Session(world, "s11-cut-arguments").say(stream)
    assert turn.finish == "length"
    for _, arguments in turn.calls:
        with pytest.raises(ValueError):
            json.loads(arguments)


@both
def test_s12_characters_cut_on_the_wire_arrive_whole(world, stream):
    assert Session(world, "s12-utf8").say(stream, TALK).content == UMLAUTS


@both
def test_s13_every_legal_event_stream_is_understood(world, stream):
    turn = Session(world, "s13-sse-habits").say(stream, TALK)
    assert (turn.content, turn.finish) == ("alpha beta gamma", "stop")


HISTORY = [
    {"role": "user", "content": "When is high water?"},
    {"role": "assistant", "content": "At noon.", "reasoning_content": "the almanac says so"},
    {"role": "user", "content": "And tomorrow?"},
]


@both
def test_s14_reasoning_in_history_goes_where_it_is_taken(world, stream):
    taken = Session(world, "s14-history")
    assert taken.say(stream, messages=HISTORY, tools=openai.omit).content == ANSWER
    sent = json.loads(taken.requests()[0]["body"])["messages"]
    assert sent == HISTORY, "a backend that takes it gets it"

    refused = Session(world, "s14-history-refused")
    assert refused.say(stream, messages=HISTORY, tools=openai.omit).content == ANSWER
    sent = json.loads(refused.requests()[-1]["body"])["messages"]
    assert "reasoning_content" not in sent[1], "a backend that refuses it does not"


@both
def test_s15_unknown_fields_reach_the_backend_as_written(world, stream):
    session = Session(world, "s15-unknown-fields")
    session.say(stream, extra_body={"x_private": {"keep": [1, 2.50, None]}, "top_k": 7})
    body = json.loads(session.requests()[0]["body"])
    assert body["x_private"] == {"keep": [1, 2.50, None]}
    assert body["top_k"] == 7


@both
def test_s16_an_error_is_an_error(world, stream):
    with pytest.raises(openai.APIError) as caught:
        Session(world, "s16-error").say(stream, TALK)
    assert "the engine fell over" in str(caught.value)


@both
def test_s17_a_client_that_leaves_stops_the_backend(world, stream):
    session = Session(world, "s17-client-gone")
    if stream:
        answer = session.client.chat.completions.create(
            model=session.slot,
                stream=True,
                prompt_cache_key=session.mark,
                messages=[{"role": "user", "content": "Go on and on."}],
        )
        for _, _chunk in zip(range(3), answer):
            pass
        answer.close()
    else:
        with pytest.raises(openai.APITimeoutError):
            session.client.with_options(timeout=1).chat.completions.create(
                model=session.slot,
                    prompt_cache_key=session.mark,
                    messages=[{"role": "user", "content": "Take your time."}],
            )
    session.client.close()
    until = time.monotonic() + 8
    while not any(one["outcome"] == "client_gone" for one in session.requests()):
        assert time.monotonic() < until, f"the backend still works: {session.requests()}"
        time.sleep(0.05)


@both
def test_s18_an_undeclared_call_stays_text(world, stream):
    turn = Session(world, "s18-undeclared").say(stream)
    assert turn.calls == []
    assert "launch_rocket" in turn.content and "<tool_call>" in turn.content
    assert turn.finish == "stop"

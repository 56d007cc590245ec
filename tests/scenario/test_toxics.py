"""Toxics of a scenario: what its file says of them, and what is refused with the key that is wrong."""

from __future__ import annotations

import pytest

from ackgap.errors import ScenarioInvalid, UsageInvalid
from ackgap.model.manner import Manner
from ackgap.scenario.faults import fault_mistake
from ackgap.scenario.flags import scenario_from_flags
from ackgap.scenario.load import load_scenario

SCENARIO = """
name = "s"
[worker]
command = "sh"
[targets.desk]
profile = "any"
[services.db]
kind = "redis"
[toxics.cut]
"""


@pytest.fixture
def scenario(tmp_path):
    def write(toxic: str, before: str = ""):
        (tmp_path / "scenario.toml").write_text(before + SCENARIO + toxic)
        return tmp_path

    return write


def test_a_scenario_names_toxics_and_thereby_links(scenario):
    more = '[toxics.gone]\nlink = "db"\ntype = "down"\n[toxics.slow]\nlink = "desk"\ntype = "latency"\nlatency = 5'
    loaded = load_scenario(scenario(f'link = "desk"\ntype = "limit_data"\nstream = "upstream"\nbytes = 0\n{more}'))
    cut, gone, slow = loaded.toxics
    assert (cut.stream, cut.attributes, cut.words) == ("upstream", {"bytes": 0}, "limit_data, upstream, bytes=0")
    assert gone.words == "the link is down"
    assert slow.words == "latency, downstream, latency=5"
    assert loaded.links == ("desk", "db")


@pytest.mark.parametrize(
    ("toxic", "key", "said"),
    [
        ('link = "desc"\ntype = "down"', "toxics.cut.link", "did you mean 'desk'"),
        ('link = "desk"\ntype = "latncy"', "toxics.cut.type", "latency"),
        ('link = "desk"\ntype = "latency"', "toxics.cut.latency", "needs 'latency'"),
        ('link = "desk"\ntype = "limit_data"\nbytes = -1', "toxics.cut.bytes", "greater than or equal to 0"),
        ('link = "desk"\ntype = "latency"\nlatency = 99999999999999999999', "toxics.cut.latency", "2147483647"),
        ('link = "desk"\ntype = "slicer"\naverage_size = 0', "toxics.cut.average_size", "equal to 1"),
        ('link = "desk"\ntype = "limit_data"\nbytes = 2147483648', "toxics.cut.bytes", "2147483647"),
        ('link = "desk"\ntype = "reset_peer"\nbytes = 1', "toxics.cut.bytes", "it takes timeout"),
        ('link = "desk"\ntype = "down"\nlatency = 1', "toxics.cut.latency", "takes no attribute"),
        ('link = "desk"\ntype = "down"\nstream = "upstream"', "toxics.cut.stream", "both ways"),
        ('link = "desk"\ntype = "down"\ntoxicity = 0.5', "toxics.cut.toxicity", "nknown key 'toxicity'"),
    ],
)
def test_a_mistake_names_the_key(scenario, toxic, key, said):
    with pytest.raises(ScenarioInvalid) as refused:
        load_scenario(scenario(toxic))
    assert said in str(refused.value)
    assert key in refused.value.where


def test_a_fault_names_a_toxic_that_is_there(scenario):
    folder = scenario('link = "desk"\ntype = "down"', before='faults = ["toxic,name=cutt"]')
    with pytest.raises(ScenarioInvalid, match="did you mean 'cut'"):
        load_scenario(folder)


def test_two_lives_at_once_cannot_be_told_apart_behind_a_link(scenario):
    loaded = load_scenario(scenario('link = "desk"\ntype = "down"'))
    assert fault_mistake(loaded, Manner.parse("kill")) is None
    mistake = fault_mistake(loaded, Manner.parse("kill,heirs=2"))
    assert mistake is not None
    assert "cannot be told apart" in mistake[0]


@pytest.mark.parametrize("digits", [20, 6000])
def test_a_number_beyond_what_toxiproxy_takes_is_refused_on_the_command_line(digits):
    with pytest.raises(UsageInvalid, match="latency: Input should be") as told:
        scenario_from_flags(worker="sh", targets=["desk=any"], toxics=["slow=desk:latency,latency=" + "9" * digits])
    assert told.value.where == "--toxic"


def test_a_command_line_names_toxics_as_a_file_does():
    made = scenario_from_flags(
        worker="sh", targets=["desk=any"], toxics=["cut=desk:limit_data,bytes=0,stream=upstream", "gone=desk:down"]
    )
    assert [(toxic.name, toxic.link, toxic.words) for toxic in made.toxics] == [
        ("cut", "desk", "limit_data, upstream, bytes=0"),
        ("gone", "desk", "the link is down"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cut", "is not of the form NAME=TARGET:TYPE"),
        ("cut=desk", "is no toxic: type"),
        ("cut=desk:limit_data", "needs 'bytes'"),
        ("cut=desk:limit_data,bytes=few", "is no toxic: bytes"),
        ("cut=desk:down,toxicity=1", "is no toxic: toxicity"),
        ("cut=desc:down", "did you mean 'desk'"),
    ],
)
def test_a_mistake_on_the_command_line_names_the_option(text, said):
    with pytest.raises(UsageInvalid) as refused:
        scenario_from_flags(worker="sh", targets=["desk=any"], toxics=[text])
    assert said in str(refused.value)
    assert refused.value.where == "--toxic"

"""What `[worker]` says of a container, and what a worker in one cannot have; what is understood of Compose files."""

from __future__ import annotations

import pytest

from ackgap.campaign.copying import why_not_copied
from ackgap.campaign.stage import wants_isolation
from ackgap.errors import ScenarioInvalid
from ackgap.requirements import network_note, runs_python
from ackgap.scenario.compose_file import ComposeInvalid, read_compose
from ackgap.scenario.load import load_scenario

SCENARIO = """
name = "contained"
[worker]
{worker}
[targets.tickets]
profile = "case-management"
{more}
"""


def load(tmp_path, worker, more=""):
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO.format(worker=worker, more=more))
    return load_scenario(file)


def test_a_command_is_looked_for_in_the_image_and_python_means_the_images_own(tmp_path):
    scenario = load(tmp_path, 'image = "some:1"\ncommand = "python not-there.py"\nresume_command = "/not/here --again"')
    assert scenario.worker.command == ("python", "not-there.py")
    assert scenario.worker.resume_command == ("/not/here", "--again")


def test_an_image_has_a_command_of_its_own(tmp_path):
    scenario = load(tmp_path, 'image = "some:1"\nhostname = "same"\ninit = true\nmounts = { "/data" = "state" }')
    container = scenario.worker.container
    assert scenario.worker.command == ()
    assert not runs_python(scenario)
    assert (container.image, container.hostname, container.init) == ("some:1", "same", True)
    assert container.mounts == {"/data": "state"}


def test_a_folder_with_a_dockerfile_is_relative_to_the_scenario(tmp_path):
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "Dockerfile").write_text("FROM some:1\n")
    assert load(tmp_path, 'build = "agent"').worker.container.build == tmp_path / "agent"


@pytest.mark.parametrize(
    ("worker", "more", "said"),
    [
        ("", "", "The key 'command' is missing"),
        ("command = []", "", "only an image has one of its own"),
        ('command = "sh"\nhostname = "same"', "", "which only a container has"),
        ('image = "a"\nhostname = "mine"', "", "'same' or 'new'"),
        ('image = "a"\nbuild = "."', "", "Keep one of image and build"),
        ('build = "nowhere"', "", "There is no Dockerfile in"),
        ('image = "a"\nmounts = { "data" = "state" }', "", "an absolute path such as /data"),
        ('image = "a"\nmounts = { "/data" = "../up" }', "", "a relative path such as 'state'"),
        ('image = "a"\nallow_hosts = ["example.com"]', "", "targets.NAME.upstream"),
        ('image = "a"\nrequires = ["httpx"]', "", "Install them into the image"),
        ('image = "a"\ninjector = "preload"', "", "reaches into no container"),
        ('image = "a"', '[services.db]\nkind = "redis"', "services.NAME.compose"),
        ('image = "a"', '[client]\ncommand = "sh"', "cannot have this"),
        ('command = "sh"', '[axes.host.values.same]\nhostname = "same"', "Only a container has a host name"),
        ('command = "sh"', 'faults = ["disconnect"]', "only to a worker in a container"),
        ('command = "sh"', 'faults = ["oom"]', "only to a worker in a container"),
    ],
)
def test_what_does_not_fit_together_is_refused_with_the_way_out(tmp_path, worker, more, said):
    before, after = ("", more) if not more.startswith("faults") else (more, "")
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO.format(worker=worker, more=after).replace('name = "contained"', f'name = "c"\n{before}'))
    with pytest.raises(ScenarioInvalid) as caught:
        load_scenario(file)
    assert said in str(caught.value)


def test_a_slot_is_not_isolated_from_the_network_that_its_containers_have(tmp_path):
    scenario = load(tmp_path, 'image = "some:1"')
    assert not wants_isolation(scenario, "isolated")
    assert "without a way out" in network_note(scenario, isolated=False)


def test_a_cell_in_a_container_begins_with_no_copy(tmp_path):
    assert "container" in why_not_copied(load(tmp_path, 'image = "some:1"'))


def compose(tmp_path, text):
    file = tmp_path / "compose.yaml"
    file.write_text(text)
    return file


def test_the_servers_of_a_compose_file_come_after_those_that_they_depend_on(tmp_path):
    text = """
    services:
      api:
        image: api:1
        command: serve --port "80 80"
        environment: {DEBUG: true, EMPTY: null, URL: "http://db"}
        depends_on: {db: {condition: service_healthy}}
        ports: ["80:80"]
      db:
        image: db:1
        environment: ["A=1", "B=x=y"]
        volumes: ["data:/var/lib", "./conf:/etc/conf:ro"]
        healthcheck: {test: pg_isready, interval: 10s, timeout: 500ms, retries: 3}
        tmpfs: /run
    volumes: {data: {}}
    """
    db, api = read_compose(compose(tmp_path, text))
    assert (db.name, api.name, api.after) == ("db", "api", ("db",))
    assert api.command == ("serve", "--port", "80 80")
    assert api.environment == {"DEBUG": "true", "EMPTY": "", "URL": "http://db"}
    assert db.environment == {"A": "1", "B": "x=y"}
    assert (db.volumes, db.binds) == ({"data": "/var/lib"}, {"/etc/conf": tmp_path / "conf"})
    assert (db.health.test, db.health.timeout_s, db.health.interval_s) == (("CMD-SHELL", "pg_isready"), 0.5, 0.2)
    assert db.tmpfs == ("/run",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("services: {}", "there is no service"),
        ("a: [", "it is no YAML"),
        ("services: {a: {build: .}}", "services.a.build: not understood"),
        ("services: {a: {command: x}}", "names no image"),
        ("services: {a: {image: x}}\nnetworks: {}", "networks: not understood"),
        ("services: {a: {image: x, depends_on: [a]}}", "never comes first"),
        ("services: {a: {image: x, environment: [HOME]}}", "has no value"),
        ("services: {a: {image: x, volumes: ['./data:/data']}}", "add :ro"),
        ("services: {a: {image: x, healthcheck: {test: y, timeout: soon}}}", "no duration"),
    ],
)
def test_what_is_not_understood_of_a_compose_file_is_named_with_its_key(tmp_path, text, said):
    with pytest.raises(ComposeInvalid) as caught:
        read_compose(compose(tmp_path, text))
    assert said in str(caught.value)


def test_a_compose_file_is_for_workers_in_containers(tmp_path):
    compose(tmp_path, "services: {a: {image: x}}")
    services = '[services.stack]\ncompose = "compose.yaml"'
    assert load(tmp_path, 'image = "some:1"', services).services[0].kind == "compose"
    with pytest.raises(ScenarioInvalid, match="Only a worker in a container"):
        load(tmp_path, 'command = "sh"', services)

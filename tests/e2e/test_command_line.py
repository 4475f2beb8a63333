"""The commands against a server and a worker elsewhere, as with TEMPORAL_ADDRESS."""

import getpass
import itertools
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from deer.models import Phase, RunStatus
from tests.e2e.commands import CommandLine, Ran, as_json
from tests.eventually import eventually
from tests.faults.worker_process import WorkerProcess
from tests.scripted import ScriptedServices, call_tool

Command = Callable[..., Ran]
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Deployment:
    """A server, a worker and its services, shared by the tests of this file."""

    address: str
    services: ScriptedServices
    directory: Path


@pytest.fixture(scope="module")
async def deployment(
    server: WorkflowEnvironment, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Deployment]:
    """A worker of its own process on the session's server."""
    directory = tmp_path_factory.mktemp("deployment")
    address = server.client.service_client.config.target_host
    with ScriptedServices() as services, WorkerProcess(address, services, directory) as worker:
        await eventually(lambda: "worker ready" in worker.log, "a worker", within_s=60)
        yield Deployment(address, services, directory)
    assert services.complaints == []


@pytest.fixture
def starter(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    """The command line in this process, without terminals, with nothing set but where server and store are."""
    monkeypatch.chdir(tmp_path)
    settings = {
        "TEMPORAL_ADDRESS": deployment.address,
        "DEER_STORE": str(deployment.directory / "store"),
        "DEER_DATA_DIR": str(tmp_path / "data"),
    }
    return CommandLine(monkeypatch, capsys, settings).run


@pytest.fixture
def run_id() -> str:
    """A name that no other run of the session has."""
    return f"cli-{next(_numbers)}"


@pytest.fixture
def waiting(starter: Command, run_id: str) -> str:
    """A run whose plan waits for a review."""
    assert starter("research", "Compare heat pumps", "--id", run_id).code == 3
    return run_id


def test_a_question_becomes_a_saved_report(starter: Command, run_id: str, tmp_path: Path) -> None:
    """With --json the status object is all of standard output, progress goes elsewhere and the report to a file."""
    ran = starter("research", "Compare heat pumps", "--id", run_id, "--auto-accept", "--json")
    assert ran.code == 0
    assert ran.out.count("\n") == 1
    assert (ran.status.id, ran.status.phase) == (run_id, Phase.COMPLETED)
    assert ran.status.report is not None
    assert ran.status.report.path == str(tmp_path / "data" / "reports" / f"{run_id}.md")
    assert Path(ran.status.report.path).read_text(encoding="utf-8").strip() == ran.status.report.markdown.strip()
    assert "coordinator → planner" in ran.err
    assert f"report saved: {ran.status.report.path}" in ran.err
    raw = json.loads(ran.out)
    assert set(raw) == set(RunStatus.model_fields)
    assert set(raw["handoffs"][0]) == {"at", "from", "to", "reason"}


def test_a_pipe_gets_the_report_and_nothing_else(starter: Command, run_id: str, tmp_path: Path) -> None:
    """Without --json and terminal, standard output is the raw Markdown report; --output names its file."""
    target = tmp_path / "mine.md"
    ran = starter("research", "Compare heat pumps", "--id", run_id, "--auto-accept", "--output", str(target))
    assert ran.code == 0
    assert ran.out.startswith("# ")
    assert target.read_text(encoding="utf-8") == ran.out
    assert starter("report", run_id).out == ran.out


def test_a_plan_waits_and_says_how_to_answer(starter: Command, run_id: str) -> None:
    """Without a terminal the plan and the two commands that answer it are printed; the code is 3 and the run waits."""
    ran = starter("research", "Compare heat pumps", "--id", run_id)
    assert ran.code == 3
    assert f"approve {run_id}" in ran.out
    assert f"edit {run_id} --feedback" in ran.out
    assert "subject-a1" in ran.out
    again = starter("follow", run_id, "--json")
    assert (again.code, again.status.phase) == (3, Phase.AWAITING_REVIEW)
    listed = as_json(starter("list", "--json").out)
    assert isinstance(listed, list)
    assert listed[0]["phase"] == "awaiting_review"
    assert {"id": run_id, "phase": "awaiting_review", "question": "Compare heat pumps"}.items() <= next(
        run for run in listed if run["id"] == run_id
    ).items()
    starter("cancel", run_id)


def test_what_was_approved_is_what_runs(starter: Command, waiting: str, deployment: Deployment, tmp_path: Path) -> None:
    """A plan edited from `show` is what runs once approved; the evidence has it, the one before, and who approved."""
    plan = json.loads(starter("show", waiting, "--json").out)["plan"]
    before = plan["steps"][0]
    plan["steps"] = [{**before, "title": "Only this", "description": "Only subject-k77"}]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan), encoding="utf-8")
    assert starter("edit", waiting, "--plan", str(path)).code == 0
    refused = starter("approve", waiting, "--revision", "1")
    assert refused.code == 2
    assert "1" in refused.error
    assert starter("approve", waiting, "--revision", "2").code == 0
    ended = starter("follow", waiting, "--json")
    assert (ended.code, ended.status.phase) == (0, Phase.COMPLETED)
    assert ended.status.plan is not None
    assert [step.title for step in ended.status.plan.steps] == ["Only this"]
    searches = [call.body["query"] for call in deployment.services.log.calls("search")]
    assert "facts on subject-k77" in searches
    bundle = json.loads(Path(starter("audit", waiting).out.splitlines()[0]).read_text(encoding="utf-8"))
    assert [(kept["revision"], kept["steps"][0]["title"]) for kept in bundle["plans"]] == [
        (1, before["title"]),
        (2, "Only this"),
    ]
    (approval,) = [made for made in bundle["decisions"] if made["to"] == "research team"]
    assert (approval["from"], approval["reason"]) == (getpass.getuser(), "approved revision 2")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"title": "x", "steps": []}', "steps"),
        ("title: x\nsteps: [{title: a, step_type: magic}]", "steps.0.step_type"),
        ("title: x\nsteps:\n- {title: a, step_type: research, depends_on: [s9]}", "steps.0.depends_on"),
        ("title: [", "line 1"),
    ],
)
def test_a_plan_with_errors_is_refused_and_the_old_one_kept(
    starter: Command, waiting: str, tmp_path: Path, text: str, field: str
) -> None:
    """The error line names the field, the code is 2, and the plan that waited still waits."""
    path = tmp_path / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    refused = starter("edit", waiting, "--plan", str(path))
    assert refused.code == 2
    assert field in refused.error
    kept = starter("show", waiting, "--json").status
    assert (kept.phase, kept.plan and kept.plan.revision) == (Phase.AWAITING_REVIEW, 1)
    starter("cancel", waiting)


def test_a_change_in_words_brings_a_new_plan(starter: Command, waiting: str) -> None:
    """`edit --feedback` re-plans; the new revision waits."""
    assert starter("edit", waiting, "--feedback", "only costs").code == 0
    after = starter("follow", waiting, "--json")
    assert (after.code, after.status.plan and after.status.plan.revision) == (3, 2)
    starter("cancel", waiting)


def test_a_run_is_controlled_by_commands(starter: Command, waiting: str, tmp_path: Path) -> None:
    """Each command says what the run did, or why not, and exits by it; what waits says how it goes on."""
    path = tmp_path / "step.yaml"
    path.write_text(
        "title: Costs\ndescription: Costs of subject-n9\nstep_type: research\nstatus: done", encoding="utf-8"
    )
    done = [
        (["pause", waiting], "paused"),
        (["add-step", waiting, "--file", str(path)], "step s3 is added"),
        (["edit-step", waiting, "s2", "--file", str(path)], "twice"),
        (["skip", waiting, "s2"], "step s2 is skipped"),
        (["skip", waiting, "s9"], "there is no step 's9'"),
        (["budget", waiting, "--tokens", "90000", "--usd", "2.5"], "the budget is now 90,000 tokens, 2.5 USD"),
        (["budget", waiting, "--usd", "none"], "the budget is now 90,000 tokens"),
        (["budget", waiting], "give at least one limit"),
        (["budget", waiting, "--pages", "few"], "--pages: few is not allowed"),
        (["retry", waiting], "nothing is held"),
        (["retry", waiting, "s1"], "has not failed"),
    ]
    for arguments, said in done:
        ran = starter(*arguments)
        assert said in ran.out + ran.err, arguments
        assert ran.code == (2 if "error: " in ran.err else 0), arguments
    page = starter("show", waiting).out
    assert f"resume {waiting}" in page
    assert " of 90,000 tokens" in page
    assert starter("follow", waiting, "--json").code == 3
    resumed = starter("resume", waiting, "--json")
    assert (resumed.code, resumed.status.phase) == (0, Phase.AWAITING_REVIEW)
    assert starter("finish", waiting).code == 0
    ended = starter("follow", waiting, "--json")
    assert (ended.code, ended.status.phase) == (0, Phase.COMPLETED_WITH_GAPS)


def test_a_run_begins_with_what_another_had(starter: Command, run_id: str) -> None:
    """`fork` keeps what came before a step, `--after` knows the report; what is not there is refused."""
    starter("research", "Compare heat pumps", "--id", run_id, "--auto-accept", "--json")
    fork = starter("fork", run_id, "--from", "s2", "--id", f"{run_id}-f", "--auto-accept", "--json")
    assert (fork.code, fork.status.id, fork.status.phase) == (0, f"{run_id}-f", Phase.COMPLETED)
    assert fork.status.handoffs[0].sender == f"run {run_id}"
    after = starter("research", "And boilers?", "--after", run_id, "--id", f"{run_id}-a", "--auto-accept", "--json")
    assert (after.code, after.status.phase) == (0, Phase.COMPLETED)
    for arguments, code, said in [
        (["fork", run_id, "--from", "s9"], 2, "there is no step 's9'"),
        (["fork", "nobody", "--from", "s1"], 4, "no run named nobody"),
        (["fork", run_id, "--from", "s2", "--id", f"{run_id}-f"], 2, "already in use"),
        (["research", "And then?", "--after", "nobody"], 4, "no run named nobody"),
    ]:
        refused = starter(*arguments)
        assert (refused.code, said in refused.error) == (code, True), refused.err


def test_a_cancelled_run_is_over_and_readable(starter: Command, waiting: str) -> None:
    """`cancel` is taken at once; `follow` then ends with 1, `show` tells the phase, and nothing more is taken."""
    assert starter("cancel", waiting).code == 0
    ended = starter("follow", waiting, "--json")
    assert (ended.code, ended.status.phase) == (1, Phase.CANCELLED)
    assert starter("show", waiting, "--json").status.phase is Phase.CANCELLED
    for late in (["approve", waiting], ["edit", waiting, "--feedback", "x"], ["cancel", waiting], ["retry", waiting]):
        refused = starter(*late)
        assert refused.code == 2
        assert f"{waiting} has already finished (cancelled)" in refused.error
    no_report = starter("report", waiting)
    assert (no_report.code, "no report (cancelled" in no_report.error) == (2, True)


def test_a_name_belongs_to_one_request(starter: Command, run_id: str) -> None:
    """The same request under the same name attaches to its run; another one is refused."""
    first = starter("research", "Compare heat pumps", "--id", run_id, "--auto-accept", "--json")
    again = starter("research", "Compare heat pumps", "--id", run_id, "--auto-accept", "--json")
    assert (again.code, again.status.report) == (0, first.status.report)
    for other in (["Compare boilers", "--auto-accept"], ["Compare heat pumps"]):
        refused = starter("research", *other, "--id", run_id)
        assert refused.code == 2
        assert f"{run_id} is already in use" in refused.error


def test_the_report_has_its_formats(starter: Command, run_id: str) -> None:
    """The JSON has the claims and sources that the report rests on; a page goes where standard output leads."""
    starter("research", "Compare heat pumps", "--id", run_id, "--auto-accept", "--detach")
    starter("follow", run_id)
    for arguments in (["--format", "json"], ["--json"]):
        read = json.loads(starter("report", run_id, *arguments).out)
        assert {"id", "question", "markdown", "path", "claims", "sources"} == set(read)
        assert read["claims"][0]["check"] == "verified"
        assert any(source["cited"] for source in read["sources"])
    file = Path("as-asked.md").resolve()
    beside = json.loads(starter("report", run_id, "--json", "--output", str(file)).out)
    assert (beside["path"], beside["markdown"]) == (str(file), file.read_text(encoding="utf-8"))
    page = starter("report", run_id, "--format", "html")
    assert "<!DOCTYPE html>" in page.out
    assert 'href="#ref-1"' in page.out
    saved = starter("report", run_id, "--format", "html", "--json")
    assert Path(json.loads(saved.out)["path"]).read_text() == page.out
    for form, beginning in (("pdf", b"%PDF"), ("docx", b"PK")):
        assert starter("report", run_id, "--format", form, "--output", f"report.{form}").code == 0
        assert Path(f"report.{form}").read_bytes().startswith(beginning)


def test_the_evidence_of_a_run_can_be_checked_elsewhere(
    starter: Command, run_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`audit` writes a file that `audit --verify` finds right without server or store, and wrong once touched."""
    starter("research", "Compare heat pumps", "--id", run_id, "--auto-accept", "--detach")
    starter("follow", run_id)
    bundle = tmp_path / "bundle.json"
    written = starter("audit", run_id, "--output", str(bundle), "--json")
    assert json.loads(written.out)["missing"] == []
    monkeypatch.setenv("TEMPORAL_ADDRESS", "127.0.0.1:9")  # where nobody listens
    right = starter("audit", "--verify", str(bundle))
    assert right.code == 0
    assert f"run {run_id}: " in right.out
    assert json.loads(written.out)["sha256"] in right.out
    bundle.write_text(bundle.read_text().replace("heat", "cold", 1))
    wrong = starter("audit", "--verify", str(bundle), "--json")
    assert wrong.code == 1
    assert json.loads(wrong.out)["failures"] == ["request: does not have its hash"]
    assert "give the id of a run, or --verify" in starter("audit").error
    unknown = starter("audit", "no-such-run")
    assert unknown.code == 4
    assert "one is saved when the research of a round begins, before a run waits for a person, and at" in unknown.error


def test_a_detached_run_goes_on_by_itself(starter: Command, run_id: str) -> None:
    """`--detach` prints the name, with --json the status object, and does not wait."""
    ran = starter("research", "Compare heat pumps", "--id", run_id, "--auto-accept", "--detach")
    assert (ran.code, ran.out) == (0, f"{run_id}\n")
    assert starter("follow", run_id).code == 0
    shown = starter("research", "Compare heat pumps", "--id", run_id, "--auto-accept", "--detach", "--json")
    assert shown.status.id == run_id


def test_a_question_back_is_answered_by_another_command(starter: Command, run_id: str, deployment: Deployment) -> None:
    """Without a terminal the question and what answers it are printed, with code 3; `answer` goes on to the plan."""
    kept = deployment.services.scripts["coordinator"]
    deployment.services.scripts["coordinator"] = lambda call: (
        call_tool("handoff_to_planner", research_topic="heat pumps", locale="en-US")
        if "minus twenty" in call.text
        else call_tool("ask_clarification", question="For which climate?", options=["cold", "mild"])
    )
    try:
        asked = starter("research", "Compare heat pumps", "--id", run_id, "--max-clarification-rounds", "1")
        assert asked.code == 3
        assert "For which climate?\n- cold\n- mild\n" in asked.out
        assert f"answer {run_id}" in asked.out
        shown = starter("show", run_id, "--json").status
        assert (shown.phase, shown.reason) == (Phase.CLARIFYING, "For which climate?\n- cold\n- mild")
        assert "the answer is empty" in starter("answer", run_id, " ").error
        assert starter("answer", run_id, "below minus twenty").code == 0
        followed = starter("follow", run_id, "--json")
        assert (followed.code, followed.status.phase) == (3, Phase.AWAITING_REVIEW)
        assert "below minus twenty" in deployment.services.log.text("planner")
        refused = starter("answer", run_id, "mild")
        assert (refused.code, "asks nothing" in refused.error) == (2, True)
    finally:
        deployment.services.scripts["coordinator"] = kept
    starter("cancel", run_id)


def test_small_talk_is_answered(starter: Command, run_id: str, deployment: Deployment) -> None:
    """An answer without research is printed as it is, with code 0."""
    kept = deployment.services.scripts["coordinator"]
    deployment.services.scripts["coordinator"] = lambda _: call_tool(
        "direct_response", message="Hello to you.", locale="en-US"
    )
    try:
        ran = starter("research", "Hello!", "--id", run_id)
    finally:
        deployment.services.scripts["coordinator"] = kept
    assert (ran.code, ran.out) == (0, "Hello to you.\n")
    assert starter("report", run_id).out == "Hello to you.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["show"],
        ["follow"],
        ["approve"],
        ["report"],
        ["cancel"],
        ["retry"],
        ["edit", "--feedback", "x"],
        ["pause"],
        ["resume"],
        ["skip", "s1"],
        ["finish"],
        ["budget", "--tokens", "9"],
    ],
    ids=lambda arguments: str(arguments[0]),
)
def test_an_unknown_run_is_not_found(starter: Command, arguments: list[str]) -> None:
    """Every command on a run that does not exist ends with 4 and one line that says so."""
    ran = starter(arguments[0], "nobody", *arguments[1:])
    assert ran.code == 4
    assert "no run named nobody" in ran.error


@pytest.mark.parametrize("name", ["", "..", "../../etc/passwd", "x" * 2_000, "a b\nc"])
def test_a_name_that_no_run_has_is_not_found(starter: Command, name: str) -> None:
    """Whatever stands in the place of a name, it is looked up and not found."""
    ran = starter("show", name)
    assert ran.code == 4
    assert len(ran.error) < 200


def test_show_is_for_people_too(starter: Command, waiting: str) -> None:
    """Without --json a page is printed: what waits, the plan, and what to type."""
    ran = starter("show", waiting)
    assert ran.code == 0
    for words in ("awaiting_review", "Compare heat pumps", "Plan 1", "subject-a1", f"approve {waiting}"):
        assert words in ran.out
    assert waiting in starter("list").out
    starter("cancel", waiting)


def test_no_server_is_said_at_once(starter: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing listens, every command ends with 5 and one line that names the address."""
    monkeypatch.setenv("TEMPORAL_ADDRESS", "127.0.0.1:9")
    for arguments in (["research", "Why?"], ["list"], ["show", "r1"]):
        ran = starter(*arguments)
        assert ran.code == 5
        assert "127.0.0.1:9" in ran.error

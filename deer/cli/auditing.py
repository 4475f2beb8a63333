"""`audit`: the evidence of a run in a file, and the check of such a file."""

from pathlib import Path

from deer.cli.exits import ExitCode
from deer.cli.given_files import bytes_of_file
from deer.cli.printing import Printer
from deer.cli.reading import read_state
from deer.cli.reports import report_path, save_file
from deer.config import load_settings
from deer.errors import InvalidInput, NotFound
from deer.exports.bundle import bundle_of, bytes_of
from deer.exports.verifying import Verdict, verdict_on

MAX_BUNDLE_BYTES = 1024 * 1024 * 1024
"""The texts of a thousand long pages: a larger file is none that `audit` wrote."""


async def audit(run_id: str | None, verify: Path | None, output: Path | None, *, as_json: bool) -> ExitCode:
    """Write the bundle of a run, or check one. Raises InvalidInput when neither or both are asked for."""
    printer = Printer(as_json=as_json)
    if run_id is not None and verify is None:
        return await _write(printer, run_id, output)
    if verify is not None and run_id is None and output is None:
        return _verify(printer, verify)
    raise InvalidInput("give the id of a run, or --verify with a file")


async def _write(printer: Printer, run_id: str, output: Path | None) -> ExitCode:
    """The store is all that is asked: neither server nor worker need be there."""
    from worker import open_store

    settings = load_settings()
    store = open_store(settings)
    state = await read_state(store, run_id)
    if state is None:
        when = "when the research of a round begins, before a run waits for a person, and at its end"
        raise NotFound(f"the store has no record of run {run_id}; one is saved {when}")
    bundle = await bundle_of(state, store)
    content = bytes_of(bundle)
    path = save_file(output or report_path(settings.data_dir, run_id, "audit.json"), content)
    verdict = verdict_on(content)
    if not state.phase.is_end:
        printer.say(f"run {run_id} has not ended: this is how it was saved last ({state.phase})")
    if bundle.plans and (first := bundle.plans[0].revision) > 1:
        printer.say(f"revisions of the plan before {first} are not in the run's record, and missing here")
    if bundle.missing_texts:
        printer.say(f"{len(bundle.missing_texts)} texts of its sources are no longer in the store, and missing here")
    elif verdict.failures:
        printer.say(f"checks of it that fail: {len(verdict.failures)}, the first: {verdict.failures[0]}")
    if printer.as_json:
        printer.json({"id": run_id, "path": str(path), "sha256": verdict.sha256, "missing": bundle.missing_texts})
    else:
        printer.raw(f"{path}\nsha256 {verdict.sha256}")
    return ExitCode.DONE


def _verify(printer: Printer, path: Path) -> ExitCode:
    verdict = verdict_on(bytes_of_file(path, MAX_BUNDLE_BYTES, "--verify"))
    if printer.as_json:
        printer.json({"ok": not verdict.failures, "file": str(path), **verdict.as_json()})
    else:
        printer.raw("\n".join([*(f"FAILED {failure}" for failure in verdict.failures), _summary(verdict)]))
    return ExitCode.FAILED if verdict.failures else ExitCode.DONE


def _summary(verdict: Verdict) -> str:
    if verdict.failures:
        return f"{len(verdict.failures)} of the checks failed; sha256 {verdict.sha256}"
    return (
        f"run {verdict.run_id}: {verdict.hashes} hashes, {verdict.texts} texts, {verdict.cited} cited sources and "
        f"{verdict.verified_claims} verified quotes are right; sha256 {verdict.sha256}"
    )

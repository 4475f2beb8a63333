"""The check of a bundle of evidence: everything that can be found out from the file alone."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from pydantic import ValidationError

from deer.evidence import by_any_id, check_quote, folded, normalised_address
from deer.exports.bundle import FORMAT, AuditedSource, Tree, hashes_of, written
from deer.exports.safe_markdown import addresses_and_markers
from deer.models import Check, CheckedClaim, Model, Source, hash_of

_SHOWN_CHARS = 60


class _Run(Model):
    id: str


class Evidence(Model):
    """The parts of a bundle that must hold together. All else is held to its hash alone, so that files stay valid."""

    run: _Run
    report: str | None
    claims: tuple[CheckedClaim, ...]
    sources: tuple[AuditedSource, ...]
    texts: dict[str, str]


@dataclass(frozen=True)
class Verdict:
    """What the check of a bundle found. `failures`: sentences that name the part; none when all is right.

    `sha256`: of the whole file, to be compared with what was noted when it was written.
    """

    sha256: str
    failures: tuple[str, ...]
    run_id: str = ""
    cited: int = 0
    verified_claims: int = 0
    texts: int = 0
    hashes: int = 0

    def as_json(self) -> Tree:
        """Its fields as a JSON object."""
        return asdict(self)


def verdict_on(content: bytes) -> Verdict:
    """Check the file of a bundle: its form, each hash, each citation and each verified quote."""
    sha256 = hashlib.sha256(content).hexdigest()
    tampered: list[str] = []
    try:
        tree = json.loads(content.decode())
        if not isinstance(tree, dict) or tree.get("format") != FORMAT:
            return Verdict(sha256, (f"format: this is not a bundle of the form {FORMAT!r}",))
        tampered = [*_form_failures(content, tree), *_hash_failures(tree)]
        evidence = Evidence.model_validate(tree)
    except UnicodeDecodeError as error:
        return Verdict(sha256, (f"byte {error.start}: is no UTF-8",))
    except json.JSONDecodeError as error:
        return Verdict(sha256, (f"line {error.lineno}, column {error.colno}: is no JSON ({error.msg})",))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        return Verdict(sha256, (*tampered, f"{place}: {first['msg']}"))
    except (RecursionError, ValueError):  # nested thousands deep, or a number of thousands of digits
        return Verdict(sha256, ("format: no bundle holds values of this size",))
    broken = [*_text_failures(evidence), *_citation_failures(evidence), *_claim_failures(evidence)]
    return Verdict(
        sha256,
        (*tampered, *broken),
        run_id=evidence.run.id,
        cited=sum(source.number is not None for source in evidence.sources),
        verified_claims=sum(claim.check is Check.VERIFIED for claim in evidence.claims),
        texts=len(evidence.texts),
        hashes=sum(len(found) if isinstance(found, list) else 1 for found in hashes_of(tree).values()),
    )


def _form_failures(content: bytes, tree: Tree) -> Iterator[str]:
    """Whether anything but the values was changed, such as white space or a key that stands twice."""
    expected = written(tree)
    if content == expected:
        return
    place = next((at for at, (is_, was) in enumerate(zip(content, expected, strict=False)) if is_ != was), None)
    at = min(len(content), len(expected)) if place is None else place
    line = content.count(b"\n", 0, at) + 1
    yield f"line {line}, byte {at}: is not as it was written"


def _hash_failures(tree: Tree) -> Iterator[str]:
    noted = tree.get("hashes")
    if not isinstance(noted, dict):
        yield "hashes: are missing"
        return
    found = hashes_of(tree)
    for name in (*found, *(name for name in noted if name not in found)):
        yield from _differences(name, noted.get(name), found.get(name))


def _differences(name: str, noted: object, found: object) -> Iterator[str]:
    if isinstance(noted, list) and isinstance(found, list) and len(noted) == len(found):
        for at, (was, is_) in enumerate(zip(noted, found, strict=True)):
            if was != is_:
                yield f"{name}[{at}]: does not have its hash"
    elif noted != found:
        yield f"{name}: does not have its hash"


def _text_failures(evidence: Evidence) -> Iterator[str]:
    for sha256, text in evidence.texts.items():
        if hash_of(text) != sha256:
            yield f"texts.{sha256}: does not have its hash"
    for source in evidence.sources:
        for sha256 in source.seen:
            if sha256 not in evidence.texts:
                yield f"texts.{sha256}: is missing, source {source.id} had it"


def _citation_failures(evidence: Evidence) -> Iterator[str]:
    """Each marker has its source, each number its marker, and each address was retrieved."""
    numbers = [source.number for source in evidence.sources if source.number is not None]
    if evidence.report is None:
        yield from (f"sources: number {number} is cited by no report" for number in numbers)
        return
    addresses, markers = addresses_and_markers(evidence.report)
    for number in sorted(markers - set(numbers)):
        yield f"report: [{number}] has no source"
    for number in sorted(set(numbers) - markers):
        yield f"report: source number {number} is not cited"
    if sorted(numbers) != list(range(1, len(numbers) + 1)):
        yield f"sources: are not numbered from 1 on, each once ({', '.join(map(str, sorted(numbers)))})"
    for source in evidence.sources:
        if source.number is not None and not source.seen:
            yield f"sources: nothing was seen of {source.id}, which is cited"
    known = {normalised_address(source.url) for source in evidence.sources}
    for address in sorted(addresses):
        if normalised_address(address) not in known:
            yield f"report: {address} is the address of no source"


def _claim_failures(evidence: Evidence) -> Iterator[str]:
    """Each verified claim has its quote in a text of its source."""
    sources = by_any_id(map(_with_ids, evidence.sources))
    seen = {source.id: source.seen for source in evidence.sources}
    texts: dict[str, list[str]] = {}
    for at, claim in enumerate(evidence.claims):
        if claim.check is not Check.VERIFIED:
            continue
        if (source := sources.get(claim.source_id)) is None:
            yield f"claims[{at}]: there is no source {claim.source_id!r}"
            continue
        if source.id not in texts:
            texts[source.id] = [folded(evidence.texts[sha]) for sha in seen[source.id] if sha in evidence.texts]
        if check_quote(claim.quote, texts[source.id]) is not Check.VERIFIED:
            quote = claim.quote[:_SHOWN_CHARS]
            yield f"claims[{at}]: its quote {quote!r} stands in no text of source {source.id}"


def _with_ids(source: AuditedSource) -> Source:
    return Source(id=source.id, url=source.url, title=source.title, aliases=source.aliases)

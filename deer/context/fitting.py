"""Making a request fit a model: what is old is told in fewer words first, what was asked is never touched.

    system prompt, question, step, feedback     as they are
    findings, sources, plan                     the longest first, down to a paragraph each; further only at the end
    earlier turns                               digests of their tool results, oldest first; then their source ids
    latest turns                                last, and evenly

A turn is a message of the model with the replies to its calls. It is shortened or left out as a whole, so that no call
is without its reply and no reply without its call.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Final

from deer.context.digests import digest
from deer.context.openings import Cut, cuts_for, falling, shorter
from deer.context.tokens import tokens_around, tokens_of_message, tokens_of_request
from deer.errors import FailureKind, ServiceError
from deer.models import ChatMessage, Speaker
from deer.ports import ChatRequest
from deer.wording import word

LATEST_TURNS = 2
"""Turns that are kept whole as long as shortening anything else is enough."""

_DIGEST_CHARS: Final = (600, 150, 0)
"""Longest text of a digest: a few sentences, one sentence, ids alone."""


def fitted(request: ChatRequest, room: int) -> ChatRequest:
    """The request with at most `room` tokens, as `tokens_of_request` counts them; the same when it fits as it is.

    Raises ServiceError (TooLong) when what must stay is too long alone.
    """
    if tokens_of_request(request) <= room:
        return request
    around = tokens_around(request)
    talk = _talk_of(request.messages)
    for ladder in _ladders(talk, room - around, request.brief.locale):
        talk = _mildest(ladder, talk, room - around)
        if talk.tokens <= room - around:
            return request.model_copy(update={"messages": talk.messages})
    raise ServiceError(
        f"question, step and rules alone are about {around + talk.tokens} tokens, more than the {room} that the model "
        "can be told; use a model that takes more (token_limit)",
        FailureKind.TOO_LONG,
    )


@dataclass(frozen=True)
class _Part:
    """Messages that are shortened together, with the tokens that they have."""

    messages: tuple[ChatMessage, ...]
    tokens: int


def _part(messages: Iterable[ChatMessage]) -> _Part:
    kept = tuple(messages)
    return _Part(kept, sum(tokens_of_message(message) for message in kept))


@dataclass(frozen=True)
class _Talk:
    """A conversation: what was said before the model first spoke, then its turns."""

    opening: _Part
    turns: tuple[_Part, ...]

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """All messages in order."""
        return sum((turn.messages for turn in self.turns), self.opening.messages)

    @property
    def tokens(self) -> int:
        """Tokens of all messages."""
        return self.opening.tokens + sum(turn.tokens for turn in self.turns)


def _talk_of(messages: Sequence[ChatMessage]) -> _Talk:
    starts = [at for at, message in enumerate(messages) if message.speaker is Speaker.ASSISTANT]
    first = starts[0] if starts else len(messages)
    turns = (_part(messages[start:end]) for start, end in pairwise([*starts, len(messages)]))
    return _Talk(_part(messages[:first]), tuple(turns))


_Ladder = Sequence[Callable[[_Talk], _Talk]]
"""Ways to shorten a conversation, each harder than the one before."""


def _mildest(ladder: _Ladder, talk: _Talk, room: int) -> _Talk:
    """The conversation as the mildest rung leaves it that is enough, else as the last one does.

    Rungs are tried by halves: each costs a walk over all the text, which may be megabytes.
    """
    if not ladder:
        return talk
    fitting = ladder[-1](talk)
    if fitting.tokens > room:
        return fitting
    first, last = 0, len(ladder) - 1
    while first < last:
        middle = (first + last) // 2
        shorter_talk = ladder[middle](talk)
        if shorter_talk.tokens <= room:
            fitting, last = shorter_talk, middle
        else:
            first = middle + 1
    return fitting


def _ladders(whole: _Talk, room: int, locale: str) -> Iterator[_Ladder]:
    """What to shorten, from what is missed least to what is missed most."""
    digests, few_words, ids = _DIGEST_CHARS
    old = whole.turns[:-LATEST_TURNS]
    latest = whole.turns[-LATEST_TURNS:]
    paragraphs = _openings(whole.opening, locale, to_the_bone=False)
    # Findings are worth more than old tool results, unless they take most of the room.
    fills_the_room = whole.opening.tokens * 2 > room
    yield _oldest(old, digests, locale)
    if fills_the_room:
        yield paragraphs
    yield _oldest(old, few_words, locale)
    if not fills_the_room:
        yield paragraphs
    longest = max((len(text) for turn in latest for message in turn.messages for text in _texts(message)), default=0)
    yield [partial(_with_latest, latest, chars, locale) for chars in falling(longest, digests)]
    yield _oldest(old, ids, locale)
    yield _openings(whole.opening, locale, to_the_bone=True)
    yield [partial(_without_first_turns, count, locale) for count in range(1, len(old) + 1)]
    yield [partial(_with_latest, latest, chars, locale) for chars in (few_words, ids)]


def _texts(message: ChatMessage) -> Iterator[str]:
    """The texts of a message that a digest may shorten."""
    yield message.content
    yield message.reasoning
    yield message.sealed.message_text if message.sealed is not None else ""
    yield from (call.arguments for call in message.calls)


def _oldest(turns: Sequence[_Part], max_chars: int, locale: str) -> _Ladder:
    """Digests for ever more turns, beginning with the first."""
    digests = [_digested(turn, max_chars, locale) for turn in turns]
    return [partial(_with_first_turns, digests[:count]) for count in range(1, len(digests) + 1)]


def _with_first_turns(turns: Sequence[_Part], talk: _Talk) -> _Talk:
    return replace(talk, turns=(*turns, *talk.turns[len(turns) :]))


def _with_latest(turns: Sequence[_Part], max_chars: int, locale: str, talk: _Talk) -> _Talk:
    digests = [_digested(turn, max_chars, locale) for turn in turns]
    return replace(talk, turns=(*talk.turns[: len(talk.turns) - len(digests)], *digests))


def _digested(turn: _Part, max_chars: int, locale: str) -> _Part:
    return _part(digest(message, max_chars, locale) for message in turn.messages)


def _openings(opening: _Part, locale: str, *, to_the_bone: bool) -> _Ladder:
    text = "\n".join(message.content for message in opening.messages if message.speaker is Speaker.USER)
    return [partial(_with_opening, opening, cut, locale) for cut in cuts_for(text, to_the_bone=to_the_bone)]


def _with_opening(whole: _Part, cut: Cut, locale: str, talk: _Talk) -> _Talk:
    return replace(talk, opening=_part(_cut(message, cut, locale) for message in whole.messages))


def _cut(message: ChatMessage, cut: Cut, locale: str) -> ChatMessage:
    if message.speaker is not Speaker.USER:
        return message
    return message.model_copy(update={"content": shorter(message.content, cut, locale)})


def _without_first_turns(count: int, locale: str, talk: _Talk) -> _Talk:
    """The conversation without its first turns, which its opening says: some models want speakers to alternate."""
    *before, last = talk.opening.messages
    note = word("turns_left_out", locale, count=count)
    last = last.model_copy(update={"content": f"{last.content}\n\n{note}"})
    return _Talk(_part((*before, last)), talk.turns[count:])

"""A folder of invented facts: names that exist nowhere else and numbers drawn from a fixed seed."""

import random
from dataclasses import dataclass
from pathlib import Path

_SYLLABLES = ("gre", "mor", "vel", "tha", "zin", "kor", "bal", "dri", "fen", "qua", "ost", "lim")
_ENDINGS = ("vik", "ton", "mar", "dur")
_CHARACTERS = "青白黑赤石云龙岭溪沙松柏鹤鹭汀"


@dataclass(frozen=True)
class Turbine:
    name: str
    output_mw: float
    built: int
    noise_db: int
    cost_euros: int


@dataclass(frozen=True)
class Reservoir:
    name: str
    capacity: int
    depth: int


@dataclass(frozen=True)
class InventedFolder:
    path: Path
    turbines: tuple[Turbine, ...]
    reservoirs: tuple[Reservoir, ...]


def write_invented_folder(path: Path, count: int = 30, seed: int = 20261130) -> InventedFolder:
    """Write so many English and so many Chinese articles, and a table of staff as CSV."""
    draw = random.Random(seed)
    path.mkdir(parents=True, exist_ok=True)
    turbines = tuple(_turbine(draw, name) for name in _names(draw, count))
    reservoirs = tuple(_reservoir(draw, name) for name in _chinese_names(draw, count))
    for turbine in turbines:
        (path / f"{turbine.name.lower()}.md").write_text(_turbine_article(turbine), encoding="utf-8")
    for reservoir in reservoirs:
        (path / f"{reservoir.name}.txt").write_text(_reservoir_article(reservoir), encoding="utf-8")
    rows = "".join(f"{turbine.name},{draw.randint(10, 99)}\n" for turbine in turbines)
    (path / "staff.csv").write_text("turbine,employees\n" + rows, encoding="utf-8")
    return InventedFolder(path, turbines, reservoirs)


def _names(draw: random.Random, count: int) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < count:
        names["".join((draw.choice(_SYLLABLES), draw.choice(_SYLLABLES), draw.choice(_ENDINGS))).capitalize()] = None
    return list(names)


def _chinese_names(draw: random.Random, count: int) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < count:
        names["".join(draw.sample(_CHARACTERS, 2)) + "水库"] = None
    return list(names)


def _turbine(draw: random.Random, name: str) -> Turbine:
    output = round(draw.uniform(1, 90), 1)
    return Turbine(name, output, draw.randint(1950, 2020), draw.randint(30, 60), draw.randint(100, 9000))


def _reservoir(draw: random.Random, name: str) -> Reservoir:
    return Reservoir(name, draw.randint(100, 9999), draw.randint(5, 200))


def _turbine_article(turbine: Turbine) -> str:
    return f"""# {turbine.name} turbine

The {turbine.name} turbine stands on a hill near the sea. It was built in {turbine.built} by a local firm.

The rated output is {turbine.output_mw} MW. Its noise level is {turbine.noise_db} dB at a distance
of 100 metres. Visitors may climb the tower on Sundays.

## Money

Maintenance of the {turbine.name} turbine costs {turbine.cost_euros} euros a year. Birds nest on it.
"""


def _reservoir_article(reservoir: Reservoir) -> str:
    return f"""{reservoir.name}

{reservoir.name}位于山谷之中，四周是松林。水库的总库容为{reservoir.capacity}万立方米，最大水深{reservoir.depth}米。

每年春天有许多候鸟来到这里。管理处设在大坝东侧。
"""

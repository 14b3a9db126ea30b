"""Search for inputs that break an invariant: `python -m fuzz.run [TARGET ...]`, a minute a target; `--long`, ten.

With atheris installed the search is guided by coverage; without it the stored inputs are changed blindly. What is worth
keeping between runs, and what broke, goes to a folder that is printed. The exit status is 1 if anything broke. `--runs`
and `--seed` make it the same search each time.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
TARGETS = [path.stem.removeprefix("fuzz_") for path in sorted(HERE.glob("fuzz_*.py"))]
WORDS = HERE / "words.dict"
KEPT = Path(tempfile.gettempdir()) / "sansio-mcp-fuzz"

SHORT_SECONDS, LONG_SECONDS = 60, 600

# Where a bound is a matter of size the corpus has a file at its edge; larger inputs only make the search slow.
MAX_BYTES = 8192

# Nothing so small may take longer, on a machine that does other things.
SLOW_SECONDS = 20


def guided(target: str, seconds: int, runs: int | None, seed: int | None) -> None:
    """Search with atheris, which ends the process."""
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["sansio_mcp"]):
        module = importlib.import_module(f"fuzz.fuzz_{target}")
    kept = KEPT / target
    kept.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", f"-timeout={SLOW_SECONDS}", f"-dict={WORDS}"]
    # 0 is a seed of libFuzzer's own choice.
    same = ["-verbosity=0", f"-seed={seed or 0}", f"-runs={-1 if runs is None else runs}"]
    places = [f"-artifact_prefix={KEPT}/{target}-", str(kept), str(HERE / "corpus" / target)]
    atheris.Setup([f"fuzz_{target}", *limits, *same, "-print_final_stats=1", *places], module.check)
    atheris.Fuzz()


def blind(target: str, seconds: int, runs: int | None = None, seed: int | None = None) -> None:
    """Change stored inputs at random, as often as there is time for, or only `runs` times."""
    check = importlib.import_module(f"fuzz.fuzz_{target}").check
    inputs = [path.read_bytes()[:MAX_BYTES] for path in sorted((HERE / "corpus" / target).glob("*.bin"))] or [b""]
    known = words()
    chance = random.Random(seed)  # noqa: S311 - nothing is secret here
    until, count = time.monotonic() + seconds, 0
    while time.monotonic() < until and count != runs:
        data = mutated(chance.choice(inputs), chance.choice(inputs), chance.choice(known), chance)
        count += 1
        try:
            check(data)
        except BaseException:
            KEPT.mkdir(exist_ok=True)
            (KEPT / f"{target}-broken").write_bytes(data)
            raise
    sys.stdout.write(f"{count} inputs, changed blindly: there is no atheris here\n")


def words() -> list[bytes]:
    """Return the words that a search knows."""
    lines = WORDS.read_text(encoding="ascii").splitlines()
    return [line[1:-1].encode().decode("unicode_escape").encode("latin-1") for line in lines if line.startswith('"')]


def mutated(first: bytes, second: bytes, word: bytes, chance: random.Random) -> bytes:
    """Return an input with a few pieces cut, doubled, overwritten by a byte or a word, or taken from another input."""
    data = bytearray(first)
    for _ in range(chance.randint(1, 4)):
        start, end = sorted((chance.randint(0, len(data)), chance.randint(0, len(data))))
        other = chance.randint(0, len(second))
        piece = chance.choice(
            (b"", data[start:end] * 2, chance.randbytes(1), word, second[other : other + end - start])
        )
        data[start : min(end, start + 64)] = piece
    return bytes(data)


def main() -> int:
    """Run the targets one after the other, each in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.run", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"all of {', '.join(TARGETS)} by default")
    parser.add_argument("--long", action="store_true", help=f"{LONG_SECONDS} seconds a target, not {SHORT_SECONDS}")
    parser.add_argument("--seconds", type=int, help="so many seconds a target")
    parser.add_argument("--runs", type=int, help="no more than so many inputs a target")
    parser.add_argument("--seed", type=int, help="what the choices start from, so that they are the same again")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if unknown := sorted(set(wanted.targets) - set(TARGETS)):
        parser.error(f"there is no target {unknown[0]}; there are {', '.join(TARGETS)}")
    seconds: int = wanted.seconds or (LONG_SECONDS if wanted.long else SHORT_SECONDS)
    targets: list[str] = wanted.targets or TARGETS
    if wanted.here:
        search = blind if importlib.util.find_spec("atheris") is None else guided
        search(targets[0], seconds, wanted.runs, wanted.seed)
        return 0
    given = {"--runs": wanted.runs, "--seed": wanted.seed}
    same = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    broken = []
    for target in targets:
        sys.stdout.write(f"{target}: {seconds} s\n")
        sys.stdout.flush()
        again = [sys.executable, "-m", "fuzz.run", "--here", "--seconds", str(seconds), *same, target]
        if subprocess.run(again, check=False, cwd=HERE.parent).returncode:  # noqa: S603 - our own argv
            broken.append(target)
    sys.stdout.write(f"{'broken: ' + ', '.join(broken) if broken else 'nothing broke'}; see {KEPT}\n")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())

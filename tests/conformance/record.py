"""Write what the installed peers answer: ``python tests/conformance/record.py`` in their own environment."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance import cases, exported, peers

KEPT = Path(__file__).resolve().parents[1] / "data" / "conformance" / "answers.json"
CASES = 150
CODES = 60
STEPPED = 60
PACKAGES = ("langchain", "pydantic-ai-harness", "inspect_ai", "agent-framework-core", "openai-agents")


def main() -> None:
    """Ask every peer the first cases, and keep the answers in order of seed."""
    warnings.simplefilter("ignore")
    answers = {rule: [getattr(peers, rule)(cases.make(seed)) for seed in range(CASES)] for rule in peers.RULES}
    kept = {"versions": {name: version(name) for name in PACKAGES}, "answers": answers}
    lines = [f'"versions": {json.dumps(kept["versions"])},', '"answers": {']
    lines += [f'"{rule}": {json.dumps(given, separators=(",", ":"))},' for rule, given in answers.items()]
    lines[-1] = lines[-1].rstrip(",")
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text("{\n" + "\n".join(lines) + "\n}}\n", encoding="utf-8")
    print(f"wrote {KEPT.name}: {len(answers)} rules, {CASES} cases each")
    keep_steps()
    ran = [f'"{target}": [\n' + ",\n".join(map(_ran(target), range(CODES))) + "\n]" for target in exported.TARGETS]
    (KEPT.parent / "exported.json").write_text("{\n" + ",\n".join(ran) + "\n}\n", encoding="utf-8")
    print(f"wrote exported.json: {len(ran)} targets, {CODES} cases each")


def keep_steps() -> None:
    """What is gone at each request of a growing run, by each peer's own state."""
    lines = []
    for rule in peers.STEPS:
        given = [getattr(peers, rule)(cases.make(seed)) for seed in range(STEPPED)]
        lines.append(f'"{rule}": {json.dumps(given, separators=(",", ":"))}')
    (KEPT.parent / "steps.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"wrote steps.json: {len(peers.STEPS)} rules, {STEPPED} cases each")


def _ran(target: str) -> Callable[[int], str]:
    def ran(seed: int) -> str:
        case = cases.make(seed)
        code = exported.text(case, target)
        return json.dumps([code, exported.run(case, target, code)], separators=(",", ":"))

    return ran


if __name__ == "__main__":
    main()

"""The trainer's verbs as an operator types them: the whole way, and with wrong arguments."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import Ran, Run, ran

from precog_fleet import evaluate as evaluation
from precog_fleet.authority import Authority
from precog_fleet.clock import now_ms
from precog_fleet.member import Member
from precog_fleet.modelset import ModelSet
from precog_fleet.releases import Releases
from precog_fleet.runner import Here

from .test_evaluate import loop
from .test_record import record

ROUTER = "tls/127.0.0.1:9"  # no server listens there


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Commands, in this process: a pool and the closed loop have tests of their own."""
    monkeypatch.setattr("precog_fleet.commands.learn.runner_of", lambda *_: Here())
    monkeypatch.setattr(evaluation, "closed_loop", lambda: loop)

    def go(*arguments: object) -> Ran:
        return ran(capsys, "fleet", *arguments)

    return go


@pytest.fixture
def member(tmp_path: Path) -> Path:
    """A trainer's folder."""
    authority = Authority.create(tmp_path / "authority", "lab", (ROUTER,))
    asked = Member.enroll(tmp_path / "trainer", "trainer0", "trainer")
    Member.join(tmp_path / "trainer", authority.approve(asked, now_ms()))
    return tmp_path / "trainer"


def told(result: Ran) -> Any:
    status, out, err = result
    assert status == 0, err
    return json.loads(out)


def test_from_telemetry_to_a_release(run: Run, hosts: Path, tmp_path: Path) -> None:
    data, models, repo, keys = (tmp_path / name for name in ("set", "models", "repo", "keys"))
    card = told(run("collect", hosts, "-o", data, "-j"))
    assert len(card["origins"]) == 3
    base = ("--base", "queue-1rtt")
    done = told(
        run(
            "train", data, "-o", models, *base, "--rounds", 1, "--updates", 150, "--least", 20, "-j"
        )
    )
    assert done["base_changed"]
    assert done["queues"] == 6
    made = told(run("repository", "init", repo, "-k", keys, "-j"))
    release = ("release", models, "-r", repo, "-k", keys)
    status, _, err = run(*release)
    assert (status, "must have an evaluation: make one with precog fleet eval" in err) == (2, True)
    status, out, err = run("evaluate", models, data, "--live", "queue-1rtt", "--seeds", 4, "-j")
    found = json.loads(out)
    assert status == 1  # too few windows and seeds for a release
    assert "held-back windows must be 200, not 174" in err
    assert "seeds must be at least 5, not 4" in err
    assert found["forecast"]["skill"]["low"] > 0
    assert run(*release)[0] == 1
    # With as many as it takes.
    path = models / "evaluation.json"
    found["forecast"]["windows"] = 200
    path.write_text(json.dumps(found))
    status, _, err = run(*release)
    assert (status, "record.json did not pass: seeds must be at least 5" in err) == (1, True)
    left = models / "record.json"
    base_digest = json.loads(left.read_bytes())["image"]
    left.unlink()
    status, _, err = run(*release)
    assert (status, "must be a file: make one with precog model evaluate" in err) == (2, True)
    release += ("--record", record(tmp_path, base_digest))
    first = told(run(*release, "-j"))
    assert first == {"release": 1, "digest": done["digest"], "repository": str(repo)}
    assert run(*release)[1].startswith(f"release 1, SHA-256 {done['digest']}: bring it out")
    (row,) = told(run("repository", "list", repo, "-j"))["releases"]
    assert (row["release"], row["digest"]) == (1, done["digest"])
    assert (row["evaluated"], row["loop_seeds"]) == ("0123abcd", 5)
    assert told(run("repository", "renew", repo, "-k", keys, "-j"))["renewed"] == []
    client = Releases(tmp_path / "m", str(repo), root=Path(made["root"]).read_bytes())
    got = client.fetch(1, bytes.fromhex(done["digest"]), "host0")
    assert got.base.crc32 == ModelSet.load(models).base.crc32


def test_a_trainer_s_folder(run: Run, member: Path, tmp_path: Path) -> None:
    assert "rollout must have been made before it can be rolled back" in run("rollback", member)[2]
    assert run("rollout", member)[2] == (
        f"error: no rollout was begun from {member}: give the number of a release\n"
    )
    authority = Authority(tmp_path / "authority")
    Member.join(
        tmp_path / "host0",
        authority.approve(Member.enroll(tmp_path / "host0", "host0", "agent"), now_ms()),
    )
    status, _, err = run("rollback", tmp_path / "host0")
    assert (status, "must be a member of role trainer, not agent: enroll" in err) == (2, True)

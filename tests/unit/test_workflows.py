"""The files under .github are what GitHub takes, ask for no more rights than they need, and cover what is supported."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from commands import lint

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
FORMS = [GITHUB / "ISSUE_TEMPLATE" / name for name in ("bug.yml", "feature.yml")]
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "custom.github-workflows-require-timeout": WORKFLOWS,
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
    "vendor.github-issue-forms": FORMS,
    "vendor.github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_files_fit_their_schemas(schema: str) -> None:
    ran = lint("check-jsonschema", "--builtin-schema", schema, *SCHEMAS[schema])
    assert ran.returncode == 0, ran.stdout


def test_the_workflows_have_no_known_weakness() -> None:
    ran = lint("zizmor", "--offline", "--no-progress", GITHUB)
    assert ran.returncode == 0, ran.stdout


WEAK = """
on: pull_request
jobs:
  test:
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    steps:
      - uses: actions/checkout@v5
      - run: echo ${{ github.event.pull_request.title }}
"""


def test_a_weak_workflow_is_found(tmp_path: Path) -> None:
    file = tmp_path / ".github" / "workflows" / "weak.yml"
    file.parent.mkdir(parents=True)
    file.write_text(WEAK)
    ran = lint("zizmor", "--offline", "--no-progress", file)
    assert ran.returncode != 0
    assert "template-injection" in ran.stdout
    assert "unpinned-uses" in ran.stdout
    file.write_text(WEAK.replace("    timeout-minutes: 5\n", "    times: 5\n"))
    schema = ["--builtin-schema", "vendor.github-workflows"]
    assert lint("check-jsonschema", *schema, file).returncode == 1


def test_the_matrix_is_what_the_project_says_it_supports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pythons = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    matrix = yaml.safe_load((GITHUB / "workflows" / "test.yml").read_text())["jobs"]["matrix"]
    assert matrix["strategy"]["matrix"]["python"] == pythons
    assert matrix["strategy"]["matrix"]["postgresql"] == ["15", "16", "17", "18"]


def test_every_hook_before_a_commit_runs_a_program_that_there_is() -> None:
    settings = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    for hook in settings["repos"][0]["hooks"]:
        for word in hook["entry"].split():
            assert not word.startswith("scripts/") or (ROOT / word).exists(), hook["id"]


def test_the_changelog_begins_with_a_section_that_a_release_can_take() -> None:
    sections = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", each) for each in sections[1:])

"""Pages of results: axioms, findings, overview, all at once, and whether they are up to date."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from credalens.cli import reproduce as reproduce_commands
from credalens.experiments import axioms_page, findings, output, pages

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
PAGES = sorted(path.name for path in RESULTS.glob("*.md") if path.name != "index.md")
runner = CliRunner()


def minor(version):
    """Return major and minor number of a version."""
    return tuple(int(part) for part in re.match(r"(\d+)\.(\d+)", version).groups())


def newest_release():
    """Return the newest version in the changelog that is released."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\d+\.\d+\.\d+)(.*)$", text, re.M)
    return max(minor(version) for version, rest in headings if "not yet released" not in rest)


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_older_than_the_last_minor_release(name):
    version = pages.version_of(RESULTS / name)
    assert version, f"{name} states no version of credalens"
    assert minor(version) >= newest_release(), f"{name}: run credalens reproduce all again"


def check(text):
    """Run the doctests of a page."""
    test = doctest.DocTestParser().get_doctest(text, {}, "page", "page", 0)
    assert test.examples
    return doctest.DocTestRunner(verbose=False).run(test, out=lambda line: None).failed


@pytest.mark.slow
def test_axioms(tmp_path):
    names = ["total", "aleatoric_lower", "hartley_residual"]
    seen = []
    text = axioms_page.run(tmp_path, measures=names, classes=3, advance=seen.append)
    assert seen == names
    page = (tmp_path / "axioms.md").read_text(encoding="utf-8")
    assert "| `total` | yes | yes | yes | yes | yes | yes |" in page
    assert "| `aleatoric_lower` | yes | yes | no | yes | yes | yes |" in page
    assert "Of 3 measures, 1 satisfy A1 to A5 on every set that was tried: `total`." in text
    assert "### aleatoric_lower\n\nA3: inner 0.5, outer 0.\n" in page
    assert check(page) == 0
    assert check(page.replace("inner > outer", "inner < outer")) > 0  # the examples are run
    assert "is confirmed: no violation was found for `total`, `aleatoric_lower`." in text


def test_a_violation_that_the_paper_excludes_is_reported(monkeypatch):
    report = axioms_page.axioms.check("lower_entropy", "A1-A5", n_classes=2)
    monkeypatch.setitem(axioms_page.PAPER, "lower_entropy", ("A1", "A3"))
    assert "Violated although the paper states them: `lower_entropy A3`." in (
        axioms_page.sentences([report])
    )
    assert "**no**" in axioms_page.as_table([report]).markdown()


class TestFindings:
    def test_the_code_shows_what_is_written(self, tmp_path):
        text = findings.run(tmp_path)
        assert check(text) == 0
        assert text.count("This folder has no result of the command.") == 5
        assert "(1.0, 0.967)" in text

    def test_results_in_the_folder_are_quoted(self, tmp_path):
        (tmp_path / "table2.csv").write_text(
            "area_mean,auc_mean,paper_area\n80,90,81\n70,80,71\n60,70,\n"
        )
        (tmp_path / "scores.md").write_text("# Scores\n\n- One.\n- Two.\n\n## Rest\n\n- Three.\n")
        text = findings.run(tmp_path)
        assert "from the 2 printed ones by 1.0 percentage points on average, the divided ones by " \
            "9.0." in text  # fmt: skip
        assert "\n- One.\n- Two.\n" in text
        assert "Three" not in text

    def test_sessions(self):
        code = """
        x = [1,
             2]
        sum(x)
        """
        assert findings.session(code) == ">>> x = [1,\n...      2]\n>>> sum(x)\n3"


class TestOverview:
    def test_summaries(self, tmp_path):
        table = output.Table("numbers", ("a", "b"))
        table.add("x", "1")
        page = output.page("table1", [table], ["Note."], summary=["First.", "Second."],
                           command="credalens reproduce table1")  # fmt: skip
        (tmp_path / "table1.md").write_text(page, encoding="utf-8")
        assert pages.summary_of(tmp_path / "table1.md") == ["First.", "Second."]
        assert pages.summary_of(tmp_path / "none.md") == []
        assert pages.version_of(tmp_path / "table1.md")
        (tmp_path / "table2.md").write_text(
            output.page("table2", [table], ["Note."], figure=False), encoding="utf-8"
        )
        assert pages.summary_of(tmp_path / "table2.md") == []
        (tmp_path / "figure1.png").write_bytes(b"")
        path = pages.write_overview(tmp_path, skipped=["`scores`: pass --keel."], command="all")
        text = path.read_text(encoding="utf-8")
        assert "| [Table 1: growth of the time](table1.md) | `credalens reproduce table1` |" in text
        assert (
            "## Table 1: growth of the time\n\n![Table 1: growth of the time](table1.png)" in text
        )
        assert "- First.\n- Second.\n\n[All numbers](table1.md)" in text
        assert "![Figure 1](figure1.png)" in text
        assert "## Not computed\n\n- `scores`: pass --keel.\n" in text
        assert "Note." not in text
        assert pages.version_of(path)

    def test_every_page_has_its_place(self):
        assert set(output.TITLES) == set(pages.ORDER) - {"figure1"}


def test_a_commit_is_stated_where_it_is_known():
    found = output.commit()
    assert re.fullmatch(r"([0-9a-f]{7,}( with local changes)?)?", found)
    assert bool(found) == ("Commit" in output.versions())
    assert re.match(r"Python \S+, credalens \d+\.\d+\S*, numpy \S+, ", output.versions())


class TestAll:
    def call(self, *words):
        return runner.invoke(reproduce_commands.app, ["all", *map(str, words)])

    @pytest.mark.slow
    def test_what_is_missing_is_skipped(self, tmp_path):
        names = "figure1,figure2,figure3,table2,human-labels"
        done = self.call("--out", tmp_path, "--only", names, "--work", tmp_path / "work")
        assert done.exit_code == 0, done.output
        for line in (
            "figure2: pass --cifar10 or --cifar100",
            "table2: pass --keel",
            "figure3: pass --images",
            "human-labels: pass --cifar10 and --annotators",
        ):
            assert f"credalens: skipped {line}\n" in done.output
        text = (tmp_path / "README.md").read_text(encoding="utf-8")
        assert "- `table2`: pass --keel." in text
        assert (tmp_path / "figure1.png").exists()
        assert f"- Command: `credalens reproduce all --only {names}`" in text
        assert done.stdout == ""

    @pytest.mark.slow
    def test_commands_run_with_the_given_data(self, tmp_path):
        rng = np.random.default_rng(0)
        folder, people, out = (tmp_path / name for name in ("nets", "people.npz", "out"))
        folder.mkdir()
        for name, labels in (("a", np.arange(40) % 3), ("b", np.zeros(40, int))):
            np.savez(folder / f"{name}.npz", probs=rng.dirichlet(np.ones(3), 40), labels=labels)
        np.savez(people, counts=rng.integers(1, 9, (40, 3)))
        given = ["--out", out, "--cifar10", folder, "--annotators", people, "--only"]
        done = self.call(*given, "figure2,findings")
        assert done.exit_code == 1  # the files have different labels
        assert done.output.endswith("credalens: failed: figure2\n")
        (folder / "b.npz").unlink()
        np.savez(folder / "c.npz", rng.dirichlet(np.ones(3), 40))
        done = self.call(*given, "figure2,human-labels")
        assert done.exit_code == 0, done.output
        page = (out / "figure2.md").read_text(encoding="utf-8")
        assert '- Command: `credalens reproduce figure2 --predictions "CIFAR-10=nets"`\n' in page
        text = (out / "README.md").read_text(encoding="utf-8")
        assert "## Human labels: the aleatoric interval and annotators" in text
        assert "![CIFAR-10](figure2-CIFAR-10.png)" in text

    def test_an_unknown_name(self, tmp_path):
        done = self.call("--out", tmp_path, "--only", "figure9")
        assert done.exit_code == 2
        assert "--only: figure9; choose from table1, figure1" in done.output

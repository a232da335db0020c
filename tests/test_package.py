"""The package as a whole: what importing it does to a process, and who imports whom."""

import ast
import importlib
import importlib.metadata
import inspect
import os
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

import credalens as cl
from credalens import _kernels

SOURCE = Path(cl.__file__).parent
GITHUB = Path(__file__).parent.parent / ".github"


def run(script, **environment):
    """Run a script in a fresh process and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ---------------------------------------------------------------- names


def test_every_public_name_exists_and_is_documented():
    for name in cl.__all__:
        assert getattr(cl, name).__doc__, name
    assert len(set(cl.__all__)) == len(cl.__all__)


def test_the_names_of_the_first_release_stay():
    assert set(cl.__all__) >= {
        "BeliefFunction",
        "Contamination",
        "Kolmogorov",
        "LowerProbability",
        "MMD",
        "ProbabilityIntervals",
        "TestFunctions",
        "TotalVariationBall",
        "Wasserstein",
        "generalized_hartley",
        "imprecision_bound",
        "lower_entropy",
        "maximum_mean_imprecision",
        "summarize",
        "upper_entropy",
        "ConvexHull",
        "CredalSet",
        "Interval",
        "RejectionCurve",
        "TotalVariation",
        "Uncertainty",
        "aleatoric_uncertainty",
        "as_credal_set",
        "epistemic_uncertainty",
        "majority_vote",
        "quantify",
        "rejection_curve",
        "rejection_order",
        "total_uncertainty",
    }


PACKAGES = (
    "axioms",
    "datasets",
    "distances",
    "evaluation",
    "measures",
    "monitor",
    "plots",
    "policy",
    "predictors",
    "report",
    "sets",
    "validity",
)


def exports():
    """Every public name: of the package, and of the packages in it."""
    for package in ("", *(f".{name}" for name in PACKAGES)):
        module = importlib.import_module(f"credalens{package}")
        for name in module.__all__:
            yield f"{module.__name__}.{name}", getattr(module, name)


def test_subpackages_say_what_they_export():
    for package in PACKAGES:
        module = importlib.import_module(f"credalens.{package}")
        assert module.__all__ == sorted(module.__all__, key=isort_key), package
        assert len(set(module.__all__)) == len(module.__all__), package


def isort_key(name):
    # Constants, then classes, then functions, as ruff sorts them.
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2, name)


def test_every_public_name_has_an_example_that_runs():
    # The doctests of the modules run with the suite.
    for where, thing in exports():
        if callable(thing):
            assert ">>>" in (thing.__doc__ or ""), where


def test_every_parameter_and_result_of_a_function_is_described():
    for where, function in exports():
        if inspect.isfunction(function):
            signature = inspect.signature(function)
            told, returns, _ = inspect.getdoc(function).partition("Returns\n---")
            told = told.partition("Parameters\n---")[2]
            heads = re.findall(r"^(\S.*?)(?: :.*)?$", told, re.MULTILINE)
            named = {name.strip(" *") for head in heads for name in head.split(",")}
            assert named >= set(signature.parameters), where
            assert returns or signature.return_annotation in ("None", "Iterator[None]"), where


def test_every_public_name_is_in_the_reference():
    pages = "\n".join(page.read_text() for page in (SOURCE.parents[1] / "docs/api").glob("*.md"))
    for where, thing in exports():
        if callable(thing):
            assert re.search(rf"\b{where.rpartition('.')[2]}\b", pages), where


def test_names_in_the_template_of_classes_exist():
    # A name that is no longer there would hide nothing, and put on no page what it is to put there.
    template = SOURCE.parents[1] / "docs/_templates/autosummary/class.rst"
    named = re.findall(r'"([a-z]\w+)"', template.read_text())
    shown = [thing for _, thing in exports() if isinstance(thing, type)]
    assert len(named) > 20
    for name in {*named} - {"sets", "distances"}:
        assert any(hasattr(thing, name) for thing in shown), name


def test_the_version_is_that_of_the_distribution():
    assert cl.__version__ == importlib.metadata.version("credalens")


def test_wheels_are_tried_with_one_list_of_tests():
    root = Path(__file__).parents[1]
    made = re.search(r"^WHEEL_TESTS := (.*)$", (root / "Makefile").read_text(), re.MULTILINE)
    settings = tomllib.loads((root / "pyproject.toml").read_text())
    command = settings["tool"]["cibuildwheel"]["test-command"]
    named = [word.removeprefix("{project}/") for word in command.split() if word.endswith(".py")]
    assert named == made[1].split()


def test_the_package_is_typed():
    assert (SOURCE / "py.typed").exists()


def test_the_stub_lists_the_kernels():
    stub = ast.parse((SOURCE / "_kernels.pyi").read_text())
    written = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    compiled = {name for name in dir(_kernels) if not name.startswith("_")}
    assert written == compiled


# ---------------------------------------------------------------- importing


@pytest.mark.slow
def test_importing_is_light():
    heavy = {"torch", "sklearn", "matplotlib", "scipy", "pyarrow", "typer", "rich", "pandas"}
    loaded = run("""
        import sys
        import credalens as cl
        cl.quantify([[0.5, 0.5], [0.2, 0.8]])
        cl.rejection_curve([0, 1], [0, 1], [0.1, 0.2]).auc
        cl.majority_vote([[0.5, 0.5]])
        print(" ".join({name.partition(".")[0] for name in sys.modules}))
    """)
    assert heavy.isdisjoint(loaded.split()), heavy.intersection(loaded.split())
    assert {"credalens", "numpy"} <= set(loaded.split())


@pytest.mark.slow
def test_importing_loads_numpy_only():
    packages = run("""
        import sys
        import credalens
        packages = set()
        for name, module in sys.modules.items():
            if "site-packages" in (getattr(module, "__file__", None) or ""):
                packages.add(name.partition(".")[0])
        print(" ".join(sorted(packages - {"credalens", "_distutils_hack"})))
    """)
    # An editable installation adds its own finder.
    assert [name for name in packages.split() if "credalens" not in name] == ["numpy"]


@pytest.mark.slow
def test_torch_is_not_imported_for_arrays():
    # A package of that name that cannot be imported: nobody may try.
    assert run("""
        import sys
        sys.modules["torch"] = None
        import credalens as cl
        print(cl.total_uncertainty([[0.5, 0.5]]))
    """) == "0.5"  # fmt: skip


# Processor time, as a multiple of what NumPy takes in the same process; the least of a few.
@pytest.mark.slow
def test_importing_and_the_first_answer_import_few_modules():
    # The time of an import grows with the number of modules; SciPy alone has several hundred.
    added = run("""
        import sys
        import numpy
        before = set(sys.modules)
        import credalens as cl
        cl.quantify([[0.5, 0.5], [0.2, 0.8]])
        print(len(set(sys.modules) - before))
    """)
    assert int(added) < 300


@pytest.mark.slow
def test_importing_leaves_floating_point_alone():
    # Finite-math flags at link time would switch off denormals in the whole process.
    assert run("""
        import threading
        import numpy as np
        import credalens as cl
        cl.quantify(np.full((2000, 5, 5), 0.2))
        seen = []
        def check():
            tiny = np.full(16, 5e-324)
            seen.append(bool((tiny * 1.0 != 0).all()) and np.float64(5e-324) * 1.0 != 0)
            seen.append(float(np.float32(1e-45)) * 1.0 != 0)
            seen.append(np.isnan(np.float64("nan")) and np.float64("inf") > 1e308)
        check()
        thread = threading.Thread(target=check)
        thread.start()
        thread.join()
        print(all(seen), len(seen))
    """) == "True 6"  # fmt: skip


def test_denormal_probabilities_are_kept():
    Q = cl.ConvexHull([[1.0, 5e-324], [1.0, 0.0]])
    assert Q.upper()[1] == 5e-324
    assert Q.lower()[1] == 0


# ---------------------------------------------------------------- threads in the environment


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "3", ""])
def test_threads_from_the_environment(threads):
    script = """
        import numpy as np
        import credalens as cl
        P = np.random.default_rng(0).dirichlet(np.ones(4), (3000, 5))
        print(cl.quantify(P).aleatoric.upper.sum())
    """
    assert run(script, CREDALENS_NUM_THREADS=threads) == run(script, CREDALENS_NUM_THREADS="2")


@pytest.mark.slow
def test_a_bad_number_of_threads_does_not_stop_the_import():
    assert run("""
        import credalens as cl
        cl.quantify([[0.5, 0.5]])  # one thread
        try:
            cl.get_num_threads()
        except ValueError as error:
            print(error)
    """, CREDALENS_NUM_THREADS="many") == (
        "CREDALENS_NUM_THREADS: is 'many'; set it to a whole number >= 1"
    )  # fmt: skip


@pytest.mark.slow
def test_bare_asserts_do_not_guard_user_input():
    for file in SOURCE.rglob("*.py"):
        tree = ast.parse(file.read_text())
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree)), file


def test_no_import_cycle():
    """Imports inside functions count; imports for annotations only do not."""
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("credalens", exclude_type_checking_imports=True, cache_dir=None)
    # Importing the compiled module counts as importing the package itself.
    remaining = {
        module: graph.find_modules_directly_imported_by(module) - {"credalens"}
        for module in graph.modules
    }
    while leaves := {module for module, imported in remaining.items() if not imported}:
        remaining = {m: imported - leaves for m, imported in remaining.items() if m not in leaves}
    remaining.pop("credalens", None)
    assert remaining == {}


@pytest.mark.slow
def test_no_test_module_imports_another():
    tests = Path(__file__).parent
    names = {path.stem for path in tests.rglob("test_*.py")}
    for path in tests.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            assert not {module.rpartition(".")[2] for module in modules} & names, path


# ---------------------------------------------------------------- the build


@pytest.mark.skipif(not GITHUB.exists(), reason="not a checkout")
def test_actions_are_pinned_by_commit():
    uses = [
        line.split("uses:")[1].strip()
        for path in (GITHUB / "workflows").glob("*.yml")
        for line in path.read_text().splitlines()
        if "uses:" in line
    ]
    assert uses
    for action in uses:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action), action


@pytest.mark.slow
@pytest.mark.skipif(not GITHUB.exists(), reason="not a checkout")
@pytest.mark.skipif(not shutil.which("cmake"), reason="needs CMake")
@pytest.mark.skipif(sys.platform == "win32", reason="compilers are not found by the path")
def test_a_missing_compiler_is_one_line_before_the_log(tmp_path):
    done = subprocess.run(
        ["cmake", "-S", str(GITHUB.parent / "kernels"), "-B", str(tmp_path)],
        capture_output=True, text=True, timeout=120, env={**os.environ, "CXX": "/bin/false"},
    )  # fmt: skip
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert lines[0].startswith("credalens: no working C++ compiler was found; install one (")


@pytest.mark.skipif(not GITHUB.exists(), reason="not a checkout")
@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_make_reports_a_missing_compiler_before_it_installs(tmp_path):
    (tmp_path / "bin").mkdir()
    for name in ("sh", "make", "gcc", "git"):
        if found := shutil.which(name):
            (tmp_path / "bin" / name).symlink_to(found)
    done = subprocess.run(
        ["make", "-C", str(GITHUB.parent), f"VENV={tmp_path}/venv", f"{tmp_path}/venv/bin/python"],
        capture_output=True, text=True, timeout=60,
        env={"PATH": str(tmp_path / "bin"), "CXX": "", "SHELL": "/bin/sh"},
    )  # fmt: skip
    assert done.returncode == 2
    assert "make: no C++ compiler was found; install g++ or clang" in done.stdout
    assert not (tmp_path / "venv").exists()

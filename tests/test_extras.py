"""Missing optional dependencies: one line with the command that installs them."""

import json
import sys
from pathlib import Path

import pytest

from credalens import _extras
from credalens._extras import install_command, require

ROOT = Path(_extras.__file__).parents[2]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a function that imitates an installation with a record of its origin."""

    def install(direct_url=None):
        site = tmp_path / "site-packages"
        info = site / "credalens-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: credalens\nVersion: 1.0\n")
        if direct_url is not None:
            (info / "direct_url.json").write_text(json.dumps(direct_url))
        monkeypatch.setattr(_extras, "__file__", str(site / "credalens" / "_extras.py"))
        monkeypatch.syspath_prepend(site)

    return install


def test_an_installed_module_is_returned():
    assert require("json.decoder", "cli") is json.decoder


@pytest.mark.parametrize("module", ["no_such_package", "no_such_package.parquet"])
def test_a_missing_package_is_named_with_the_command(module):
    with pytest.raises(ModuleNotFoundError) as caught:
        require(module, "cli")
    message = str(caught.value)
    assert message == f"no_such_package is not installed; run {install_command('cli')}"
    assert caught.value.name == "no_such_package"
    assert "\n" not in message


def test_a_package_whose_own_dependency_is_missing_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_package", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'no_such_package'"):
        require("broken_package", "cli")


@pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="not a source checkout")
def test_a_source_checkout():
    assert install_command("cli") == f"pip install -e '{ROOT}[cli]'"


def test_a_package_index(installed):
    installed()
    assert install_command("cli") == "pip install 'credalens[cli]'"


def test_a_wheel_file(installed):
    url = "file:///home/me/credalens-1.0-cp311-cp311-linux_x86_64.whl"
    installed({"url": url, "archive_info": {"hashes": {"sha256": "0" * 64}}})
    assert install_command("dask") == f"pip install 'credalens[dask] @ {url}'"


def test_a_folder_that_is_not_editable(installed):
    installed({"url": "file:///home/me/credalens", "dir_info": {}})
    assert install_command("cli") == "pip install 'credalens[cli] @ file:///home/me/credalens'"


def test_a_repository(installed):
    url = "https://example.org/credalens.git"
    installed({"url": url, "vcs_info": {"vcs": "git", "commit_id": "abc123"}})
    assert install_command("cli") == f"pip install 'credalens[cli] @ git+{url}@abc123'"


@pytest.mark.parametrize("text", ["", "[tool]\n", "[project]\nname = 'other'\n", "not TOML"])
def test_the_project_of_a_user_is_no_checkout(installed, tmp_path, text):
    """``pip install --target vendor credalens`` puts the package into another project."""
    installed()
    (tmp_path / "pyproject.toml").write_text(text)
    assert install_command("cli") == "pip install 'credalens[cli]'"

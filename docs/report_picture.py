"""Make images/report.png, the top of the demo's report: ``python docs/report_picture.py``."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from credalens.experiments import demo


def main() -> None:
    """Run the demo and take a picture of its report in Chromium."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("no chromium or google-chrome here to draw the page; install one")
    picture = Path(__file__).parent / "images" / "report.png"
    with tempfile.TemporaryDirectory() as folder:
        demo.run(Path(folder))
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1240,1490"]
        command = [browser, *options, f"--screenshot={picture}", f"{folder}/report.html"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # noqa: S603
    print(f"wrote {picture}")


if __name__ == "__main__":
    main()

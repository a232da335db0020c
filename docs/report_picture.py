"""Write images/report.png, a screenshot of the demo report: ``python docs/report_picture.py``."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from credalens.experiments import demo


def main() -> None:
    """Run the demo and take a screenshot of its report with Chromium."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("chromium or google-chrome is not installed")
    picture = Path(__file__).parent / "images" / "report.png"
    with tempfile.TemporaryDirectory() as folder:
        demo.run(Path(folder))
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1240,1490"]
        command = [browser, *options, f"--screenshot={picture}", f"{folder}/report.html"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # noqa: S603
    print(f"wrote {picture}")


if __name__ == "__main__":
    main()

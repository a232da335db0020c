"""Commands in ``console`` blocks of the documentation, with their output."""

import re


def consoles(text):
    """Yield the commands of a page and their output, in order."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.S | re.M):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            yield part.partition("\n")[::2]

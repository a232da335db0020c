"""Speed, shown as a ratio to something else measured in the same run: ``make bench``."""

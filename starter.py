"""The command line: `uv run starter.py --help`."""

from deer.cli import main

if __name__ == "__main__":
    main()

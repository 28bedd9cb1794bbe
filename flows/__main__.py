"""`python -m flows`: the command line, for where the script is not on the path."""

from flows.cli import main

if __name__ == "__main__":
    main()

"""`python -m plumbline`: the same as the command `plumbline`."""

from plumbline.cli import main

if __name__ == "__main__":
    main()

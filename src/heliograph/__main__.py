"""`python -m heliograph` is `heliograph`."""

from heliograph.cli.main import main

if __name__ == "__main__":
    main()

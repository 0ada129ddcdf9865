"""``python -m ringprism``, and the ``ringprism`` command: Ctrl-C has its exit code while modules are still loaded."""

import sys

from ringprism.threads import one_blas_thread


def main() -> None:
    """Load the command line, and run it."""
    one_blas_thread()
    try:
        from ringprism.cli import main as run
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        print(f"error: ringprism cannot be loaded: {type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(70)  # never 1, which says that a verdict failed
    run()


if __name__ == "__main__":
    main()

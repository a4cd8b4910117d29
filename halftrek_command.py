"""The command ``halftrek``, in a module that loads nothing: a stop while the package is still loading is a stop too."""


def main() -> int:
    """Runs the command in the process's words and returns its exit code."""
    try:
        from halftrek.cli import main as run
    except KeyboardInterrupt:  # the package's own handlers are not there yet; 130 is what a shell says of this signal
        import os

        os.write(2, b"halftrek: stopped\n")
        return 130
    return run()

"""Where the command begins, as `campaign` and as `python -m campaign.cli`."""

import signal


def main() -> None:
    """Runs the command line. Ctrl-C while it loads ends it silently, by the signal."""
    asked = signal.getsignal(signal.SIGINT)
    if asked is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from campaign.cli.main import main as command

    signal.signal(signal.SIGINT, asked)
    command()


if __name__ == "__main__":
    main()

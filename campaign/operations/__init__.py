"""One function a verb. The command line and every other face call these and only these."""

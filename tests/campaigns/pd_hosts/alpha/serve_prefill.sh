#!/bin/bash
# Serves prefill. CHECKSUM_PROBE=1 logs checksums, where the engine calls the probe.
set -eu
cd /srv/pd
export DEMO_PORT=@PORT_PREFILL@
export DEMO_INDEX_WIDTH=64   # as decode has it
exec /usr/bin/python3 system/prefill.py

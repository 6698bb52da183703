#!/bin/bash
# Serves prefill. DEMO_IDXK_CKSUM=1 logs checksums, where the engine knows how to.
set -eu
cd /srv/pd
export DEMO_PORT=@PORT_PREFILL@
export DEMO_INDEX_WIDTH=64   # as decode has it
exec /usr/bin/python3 system/prefill.py
